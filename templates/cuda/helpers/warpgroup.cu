// The number of this thread's warpgroup, the same register for all of its threads.
__device__ int warpgroup() { return shuffle_from_lane(int(threadIdx.x / 128), 0); }
