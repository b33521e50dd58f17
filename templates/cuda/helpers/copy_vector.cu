// N elements from one place in memory to another.
template <int N, class D, class S> __device__ void copy_vector(D* dst, const S* src)
{
    const Vector<S, N> v = *reinterpret_cast<const Vector<S, N>*>(src);
    store_vector<N>(dst, v.data);
}
