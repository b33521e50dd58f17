// The remainder with the sign of b, as Python's % gives it.
template <class A, class B>
static auto floored_remainder(A a, B b) -> decltype(a % b)
{
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}
