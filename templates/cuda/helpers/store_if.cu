// N elements from registers to memory where they exist there.
template <int N, class D, class S> __device__ void store_if(D* dst, const S* src, bool exists)
{
    if (exists) store_vector<N>(dst, src);
}
