// The row of this thread among warps of 8 x 4 threads, WARPS of them in a row: where the mma
// instructions hold their accumulator.
template <int WARPS> __device__ int mma_row()
{
    return threadIdx.x / 32 / WARPS * 8 + threadIdx.x % 32 / 4;
}
