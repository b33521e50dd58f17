// As copy_inside, but in the background: complete after a cp_async_wait and a barrier.
template <int N, class T> __device__ void copy_async(T* dst, const T* src, int inside)
{
    if (is_aligned<N>(src))
        cp_async<N * sizeof(T)>(dst, src, max(0, min(inside, N)) * int(sizeof(T)));
    else
        copy_inside<N>(dst, src, inside);
}
