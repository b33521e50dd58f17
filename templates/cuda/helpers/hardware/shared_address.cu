__device__ unsigned shared_address(const void* p) { return __cvta_generic_to_shared(p); }
