// As copy_inside; where all N elements exist and are aligned, in the background: complete after a
// cp_async_wait and a barrier.
template <int N, class T> __device__ void copy_async(T* dst, const T* src, int inside)
{
    if (inside >= N && is_aligned<N>(src))
        cp_async<N * sizeof(T)>(dst, src);
    else
        copy_inside<N>(dst, src, inside);
}
