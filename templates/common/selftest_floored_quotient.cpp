// Division that rounds down, as Python's // does.
template <class A, class B>
static auto floored_quotient(A a, B b) -> decltype(a / b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
