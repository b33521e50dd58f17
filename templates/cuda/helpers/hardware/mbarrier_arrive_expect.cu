// One arrival; the phase also waits for `bytes` from the copy engine.
__device__ void mbarrier_arrive_expect(unsigned long long* barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
