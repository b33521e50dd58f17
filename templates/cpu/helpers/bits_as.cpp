// The bits of a value as another type of the same size.
template <class To, class From> static inline To bits_as(From from)
{
    static_assert(sizeof(To) == sizeof(From), "one has the bits of the other");
    union { From from; To to; } bits = {from};
    return bits.to;
}
