// The row of this thread in rows of WIDTH threads. A warp is a block of 4 x 8 threads in which
// neighbours are two rows of one column, so that its lanes share the operands that they load.
template <int WIDTH> __device__ int thread_m()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return warp / (WIDTH / 8) * 4 + lane / 16 * 2 + lane % 2;
}
