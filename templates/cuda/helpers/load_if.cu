// N elements from memory to registers where they exist, else zeros.
template <int N, class D, class S> __device__ void load_if(D* dst, const S* src, bool exists)
{
    Vector<S, N> v{};
    if (exists) v = *reinterpret_cast<const Vector<S, N>*>(src);
    #pragma unroll
    for (int i = 0; i < N; ++i) dst[i] = D(v.data[i]);
}
