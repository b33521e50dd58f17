template <class Unsigned>
static int count_leading_zeros(Unsigned x)
{
    int zeros = 8 * sizeof x;
    for (; x; x >>= 1) --zeros;
    return zeros;
}
