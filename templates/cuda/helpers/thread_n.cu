// The column of this thread among THREADS_M x THREADS_N.
__device__ int thread_n()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return warp % (THREADS_N / 8) * 8 + lane % 16 / 2;
}
