// ${ result | capitalize } over the four threads of a row, see quad_row: their lanes differ in bits 1 and 3.
template <class T> __device__ T ${ operation }_over_quads(T x)
{
    x = ${ operation }_of(x, shuffle_xor(x, 2));
    return ${ operation }_of(x, shuffle_xor(x, 8));
}
