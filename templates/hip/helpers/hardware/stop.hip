__device__ void stop() { __builtin_trap(); }
