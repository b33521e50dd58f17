// N elements from memory to registers, of which the first `inside` exist; the rest are zero. All
// exist, and at an aligned place, where `whole`.
template <int N, class D, class S>
__device__ void load_inside(D* dst, const S* src, int inside, bool whole = false)
{
    if (whole || (inside >= N && is_aligned<N>(src))) {
        load_vector<N>(dst, src);
    } else {
        #pragma unroll
        for (int i = 0; i < N; ++i) dst[i] = i < inside ? D(src[i]) : D(0);
    }
}
