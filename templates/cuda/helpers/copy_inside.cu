// N elements of `src`, of which the first `inside` exist, to an aligned place; the rest are zero.
template <int N, class D, class S> __device__ void copy_inside(D* dst, const S* src, int inside)
{
    D v[N];
    load_inside<N>(v, src, inside);
    store_vector<N>(dst, v);
}
