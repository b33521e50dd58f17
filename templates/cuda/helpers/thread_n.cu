// The column of this thread in rows of WIDTH threads, see thread_m.
template <int WIDTH> __device__ int thread_n()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return warp % (WIDTH / 8) * 8 + lane % 16 / 2;
}
