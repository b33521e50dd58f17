// N elements from global to shared memory in the background: complete after a cp_async_wait and a
// barrier. Where not `whole`, only the first `inside` exist: zeros beyond them, at once where some
// exist.
template <int N, class T>
__device__ void copy_async(T* dst, const T* src, int inside, bool whole = false)
{
    if (whole)
        cp_async<N * sizeof(T)>(dst, src);
    else if (is_aligned<N>(src) && (inside >= N || inside <= 0))
        cp_async_or_zeros<N * sizeof(T)>(dst, src, inside > 0);
    else
        copy_inside<N>(dst, src, inside);
}
