// A bit for each lane of the warp in which x holds.
__device__ unsigned ballot(bool x) { return __ballot_sync(0xffffffff, x); }
