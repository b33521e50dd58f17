// Two neighbouring elements, rounded to T of 16 bits, as one register.
template <class T, class S> __device__ unsigned pack_pair_as(const S* pair)
{
    const T low = T(pair[0]), high = T(pair[1]);
    return low.bits | unsigned(high.bits) << 16;
}
