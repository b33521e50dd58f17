// Waits until at most PENDING groups of this thread's copies are on their way.
template <int PENDING> __device__ void cp_async_wait()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(PENDING));
}
