// The column of this thread, see wgmma_row; each holds pairs of neighbouring elements.
template <int WARPS> __device__ int wgmma_col()
{
    return threadIdx.x / 32 % WARPS * 4 + threadIdx.x % 4;
}
