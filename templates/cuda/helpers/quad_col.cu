// The column of this thread, see quad_row; each holds pairs of neighbouring elements.
template <int WARPS> __device__ int quad_col()
{
    const int lane = threadIdx.x % 32;
    return threadIdx.x / 32 % WARPS * 4 + lane / 8 % 2 * 2 + lane / 2 % 2;
}
