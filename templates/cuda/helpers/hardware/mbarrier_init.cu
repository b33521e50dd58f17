// A barrier in shared memory for `count` arrivals a phase.
__device__ void mbarrier_init(unsigned long long* barrier, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(barrier)), "r"(count));
}
