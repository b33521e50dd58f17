// Two neighbouring 16-bit elements from one register.
template <class T> __device__ void store_pair(T* pair, unsigned value)
{
    pair[0].bits = value;
    pair[1].bits = value >> 16;
}
