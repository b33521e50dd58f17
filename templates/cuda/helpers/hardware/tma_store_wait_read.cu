// Waits until at most PENDING groups of stores have yet to read shared memory.
template <int PENDING> __device__ void tma_store_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(PENDING) : "memory");
}
