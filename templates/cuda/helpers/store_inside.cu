// The first `inside` of N elements to memory; all of them, to an aligned place, where `whole`.
template <int N, class D, class S>
__device__ void store_inside(D* dst, const S* src, int inside, bool whole = false)
{
    if (whole || (inside >= N && is_aligned<N>(dst))) {
        store_vector<N>(dst, src);
    } else {
        #pragma unroll
        for (int i = 0; i < N; ++i)
            if (i < inside) dst[i] = D(src[i]);
    }
}
