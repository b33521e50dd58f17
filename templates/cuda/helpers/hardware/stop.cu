__device__ void stop() { __trap(); }
