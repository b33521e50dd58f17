// N elements from registers to memory.
template <int N, class D, class S> __device__ void store_vector(D* dst, const S* src)
{
    Vector<D, N> v;
    #pragma unroll
    for (int i = 0; i < N; ++i) v.data[i] = D(src[i]);
    *reinterpret_cast<Vector<D, N>*>(dst) = v;
}
