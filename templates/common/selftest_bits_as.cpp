template <class To, class From>
static To bits_as(From from)
{
    union { From from; To to; } bits = {from};
    return bits.to;
}
