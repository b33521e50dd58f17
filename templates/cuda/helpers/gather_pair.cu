// Two 16-bit elements, PITCH apart, as one register.
template <int PITCH, class T> __device__ unsigned gather_pair(const T* first)
{
    return first[0].bits | unsigned(first[PITCH].bits) << 16;
}
