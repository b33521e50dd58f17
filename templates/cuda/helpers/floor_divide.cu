// a / b rounded toward minus infinity, as Python's // does.
template <class A, class B> __device__ auto floor_divide(A a, B b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
