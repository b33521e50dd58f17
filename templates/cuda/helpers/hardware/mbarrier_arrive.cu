// One arrival. Without .release, which would cost a fence of the whole GPU: what was read is read.
__device__ void mbarrier_arrive(unsigned long long* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(shared_address(barrier)) : "memory");
}
