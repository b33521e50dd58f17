// As tma_load_${ rank }d, with what the L2 cache should do with the box.
__device__ void tma_load_${ rank }d_hinted(void* dst, const TensorMap* map, unsigned long long* full, ${ parameters }, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.${ rank }d.shared::${ "cta" if target.arch.startswith("sm_12") else "cluster" }.global.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1, {${ after_four }}], [%2], %3;"
                 :: "r"(shared_address(dst)), "l"(map), "r"(shared_address(full)), "l"(policy), ${ operands } : "memory");
}
