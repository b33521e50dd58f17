// carry and the sum of x over the lanes before this one (BACKWARD: behind it), in groups of WIDTH
// neighbouring lanes; carry then takes in the whole group.
template <int WIDTH, bool BACKWARD = false, class T> __device__ T sum_before_in_warp(T x, T& carry)
{
    const int lane = threadIdx.x % WIDTH, last = BACKWARD ? 0 : WIDTH - 1;
    const T total = sum_scan_in_warp<WIDTH, BACKWARD>(x);
    const T before = BACKWARD ? shuffle_down(total, 1) : shuffle_up(total, 1);
    const T start = lane == WIDTH - 1 - last ? carry : sum_of(carry, before);
    carry = sum_of(carry, shuffle_from_lane(total, threadIdx.x % WARP - lane + last));
    return start;
}
