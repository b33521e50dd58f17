// N elements of `src`, of which the first `inside` exist, to an aligned place; the rest are zero.
// All exist, and at an aligned place, where `whole`.
template <int N, class D, class S>
__device__ void copy_inside(D* dst, const S* src, int inside, bool whole = false)
{
    D v[N];
    load_inside<N>(v, src, inside, whole);
    store_vector<N>(dst, v);
}
