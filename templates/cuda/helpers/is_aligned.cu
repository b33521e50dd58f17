template <int N, class T> __device__ bool is_aligned(const T* p)
{
    return reinterpret_cast<unsigned long long>(p) % (sizeof(T) * N) == 0;
}
