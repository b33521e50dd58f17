// a - b * floor(a / b), as Python's % does.
template <class A, class B> __device__ auto floor_modulo(A a, B b)
{
    const auto rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
