// These lines stay in the L2 cache longer than others: many blocks read them.
__device__ unsigned long long l2_evict_last()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
