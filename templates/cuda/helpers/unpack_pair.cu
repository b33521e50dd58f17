// The two 16-bit elements of a register.
template <class T> __device__ void unpack_pair(T* pair, unsigned word)
{
    pair[0].bits = word;
    pair[1].bits = word >> 16;
}
