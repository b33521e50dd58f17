// a / b rounded toward minus infinity, as Python's // does.
template <class T> __device__ T floor_divide(T a, T b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
