// a / b rounded toward minus infinity.
template <class A, class B> static inline auto floor_divide(A a, B b)
{
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
