// As tma_load_${ rank }d_multicast, with what the L2 cache should do with the box.
__device__ void tma_load_${ rank }d_multicast_hinted(void* dst, const TensorMap* map, unsigned long long* full, ${ parameters }, unsigned mask, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.${ rank }d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster.L2::cache_hint [%0], [%1, {${ after_five }}], [%2], %3, %4;"
                 :: "r"(shared_address(dst)), "l"(map), "r"(shared_address(full)), "h"((unsigned short)mask), "l"(policy), ${ operands } : "memory");
}
