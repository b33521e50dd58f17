// N elements from global to shared memory in the background: complete after a cp_async_wait and a
// barrier.
template <int N, class T> __device__ void copy_async(T* dst, const T* src)
{
    cp_async<N * sizeof(T)>(dst, src);
}

// The same where only the first `inside` of them exist: at once where not all do, zero beyond them.
template <int N, class T> __device__ void copy_async(T* dst, const T* src, int inside)
{
    if (inside >= N && is_aligned<N>(src))
        copy_async<N>(dst, src);
    else
        copy_inside<N>(dst, src, inside);
}
