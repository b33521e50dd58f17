// The row of this thread among THREADS_M x THREADS_N. A warp is a block of 4 x 8 threads in which
// neighbours are two rows of one column: its lanes share the operands that they load.
__device__ int thread_m()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return warp / (THREADS_N / 8) * 4 + lane / 16 * 2 + lane % 2;
}
