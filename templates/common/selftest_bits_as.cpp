template <class To, class From>
static To bits_as(From from)
{
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
