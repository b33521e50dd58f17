// A barrier of all threads of a cluster. Relaxed: a releasing arrival would cost a fence of the whole
// GPU, and fence_mbarrier_init has published what the others need.
__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned; "
                 "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
