// ${ result | capitalize } over the lanes up to this one (BACKWARD: from it on), in groups of WIDTH neighbours.
template <int WIDTH, bool BACKWARD = false, class T> __device__ T ${ operation }_scan_in_warp(T x)
{
    const int lane = threadIdx.x % WIDTH, place = BACKWARD ? WIDTH - 1 - lane : lane;
    #pragma unroll
    for (int offset = 1; offset < WIDTH; offset *= 2) {
        const T other = BACKWARD ? shuffle_down(x, offset) : shuffle_up(x, offset);
        if (place >= offset) x = ${ operation }_of(other, x);
    }
    return x;
}
