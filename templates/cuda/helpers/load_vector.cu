// N elements from memory to registers.
template <int N, class D, class S> __device__ void load_vector(D* dst, const S* src)
{
    const Vector<S, N> v = *reinterpret_cast<const Vector<S, N>*>(src);
    #pragma unroll
    for (int i = 0; i < N; ++i) dst[i] = D(v.data[i]);
}
