// Two neighbouring 16-bit elements as one register.
template <class T> __device__ unsigned pack_pair(const T* pair)
{
    return pair[0].bits | unsigned(pair[1].bits) << 16;
}
