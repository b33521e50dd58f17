// A barrier of `threads` threads of the block; `id` is 1 to 15.
__device__ void named_barrier_sync(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");
}
