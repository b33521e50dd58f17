// Every element of an array in registers, converted, to its place in another of the same extents.
template <class S, class D> __device__ void copy_registers(const S& src, D& dst) { dst = D(src); }

template <class S, class D, int N> __device__ void copy_registers(const S (&src)[N], D (&dst)[N])
{
    #pragma unroll
    for (int i = 0; i < N; ++i) copy_registers(src[i], dst[i]);
}
