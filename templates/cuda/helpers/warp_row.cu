// The row of this thread's warp, with WARPS warps in a row.
template <int WARPS> __device__ int warp_row() { return threadIdx.x / 32 / WARPS; }
