// Whether x holds in any lane of the warp.
__device__ bool any_in_warp(bool x) { return __any(x); }
