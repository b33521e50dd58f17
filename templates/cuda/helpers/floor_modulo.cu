// a - b * floor(a / b), as Python's % does.
template <class T> __device__ T floor_modulo(T a, T b)
{
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
