// N elements from memory to registers, of which the first `inside` exist; the rest are zero.
template <int N, class D, class S> __device__ void load_inside(D* dst, const S* src, int inside)
{
    if (inside >= N && is_aligned<N>(src)) {
        load_vector<N>(dst, src);
    } else {
        #pragma unroll
        for (int i = 0; i < N; ++i) dst[i] = i < inside ? D(src[i]) : D(0);
    }
}
