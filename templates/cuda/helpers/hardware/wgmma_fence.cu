// Before the first product of a group: its registers are written, its operands complete.
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
