// The column of this thread's warp, with WARPS warps in a row.
template <int WARPS> __device__ int warp_col() { return threadIdx.x / 32 % WARPS; }
