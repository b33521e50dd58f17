// ${ result | capitalize } over groups of WIDTH neighbouring lanes; every lane of a group gets it.
template <int WIDTH, class T> __device__ T ${ operation }_in_warp(T x)
{
    #pragma unroll
    for (int offset = WIDTH / 2; offset > 0; offset /= 2) x = ${ operation }_of(x, shuffle_xor(x, offset));
    return x;
}
