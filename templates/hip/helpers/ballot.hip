// A bit for each lane of the warp in which x holds.
__device__ unsigned long long ballot(bool x) { return __ballot(x); }
