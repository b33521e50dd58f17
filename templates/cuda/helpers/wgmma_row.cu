// The upper one of this thread's two rows, 8 apart, of 16 rows for each warp: where wgmma holds
// its accumulator.
template <int WARPS> __device__ int wgmma_row()
{
    return threadIdx.x / 32 / WARPS * 16 + threadIdx.x % 32 / 4;
}
