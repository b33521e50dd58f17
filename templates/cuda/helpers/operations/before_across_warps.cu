// carry and the ${ result } over the threads before this one (BACKWARD: behind it), in groups of WIDTH
// neighbouring threads, a multiple of a warp; carry then takes in the whole group.
template <int WIDTH, bool BACKWARD = false, class T>
__device__ T ${ operation }_before_across_warps(T x, T& carry, T* scratch)
{
    constexpr int WARPS = WIDTH / WARP;
    const int lane = threadIdx.x % WARP, first = BACKWARD ? WARP - 1 : 0;
    const T total = ${ operation }_scan_in_warp<WARP, BACKWARD>(x);
    const T before = BACKWARD ? shuffle_down(total, 1) : shuffle_up(total, 1);
    if (lane == WARP - 1 - first) scratch[threadIdx.x / WARP] = total;
    __syncthreads();        // why: the totals of all warps are there
    const T* group = scratch + threadIdx.x / WIDTH * WARPS;
    T start = carry;
    for (int i = 0; i < WARPS; ++i) {
        const int warp = BACKWARD ? WARPS - 1 - i : i;
        if (warp == threadIdx.x % WIDTH / WARP) start = carry;
        carry = ${ operation }_of(carry, group[warp]);
    }
    __syncthreads();        // why: scratch may be used again
    return lane == first ? start : ${ operation }_of(start, before);
}
