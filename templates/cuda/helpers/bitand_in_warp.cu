// Bitwise and of x over groups of WIDTH neighbouring lanes; every lane of a group gets it.
template <int WIDTH, class T> __device__ T bitand_in_warp(T x)
{
    #pragma unroll
    for (int offset = WIDTH / 2; offset > 0; offset /= 2) x = bitand_of(x, shuffle_xor(x, offset));
    return x;
}
