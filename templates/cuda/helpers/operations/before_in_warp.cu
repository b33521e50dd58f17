// carry and the ${ result } over the lanes before this one (BACKWARD: behind it), in groups of WIDTH
// neighbouring lanes; carry then takes in the whole group.
template <int WIDTH, bool BACKWARD = false, class T> __device__ T ${ operation }_before_in_warp(T x, T& carry)
{
    const int lane = threadIdx.x % WIDTH, last = BACKWARD ? 0 : WIDTH - 1;
    const T total = ${ operation }_scan_in_warp<WIDTH, BACKWARD>(x);
    const T before = BACKWARD ? shuffle_down(total, 1) : shuffle_up(total, 1);
    const T start = lane == WIDTH - 1 - last ? carry : ${ operation }_of(carry, before);
    carry = ${ operation }_of(carry, shuffle_from_lane(total, threadIdx.x % WARP - lane + last));
    return start;
}
