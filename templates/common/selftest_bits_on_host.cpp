template <class To, class From>
static To bits_on_host(From from)
{
    union { From from; To to; } bits = {from};
    return bits.to;
}
