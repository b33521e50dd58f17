// What this thread wrote to shared memory becomes visible to the copy engine.
__device__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
