// N elements from global to shared memory in the background: complete after a cp_async_wait and a
// barrier.
template <int N, class T> __device__ void copy_async(T* dst, const T* src)
{
    cp_async<N * sizeof(T)>(dst, src);
}

// The same where only the first `inside` of them exist: zeros beyond them, at once where some exist.
template <int N, class T> __device__ void copy_async(T* dst, const T* src, int inside)
{
    if (is_aligned<N>(src) && (inside >= N || inside <= 0))
        cp_async_or_zeros<N * sizeof(T)>(dst, src, inside > 0);
    else
        copy_inside<N>(dst, src, inside);
}
