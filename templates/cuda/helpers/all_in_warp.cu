// Whether x holds in all lanes of the warp.
__device__ bool all_in_warp(bool x) { return __all_sync(0xffffffff, x); }
