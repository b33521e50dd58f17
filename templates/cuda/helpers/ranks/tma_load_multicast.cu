// As tma_load_${ rank }d, to the same place in each block of the cluster whose bit is set in `mask`;
// each counts the bytes on its own `full`.
__device__ void tma_load_${ rank }d_multicast(void* dst, const TensorMap* map, unsigned long long* full, ${ parameters }, unsigned mask)
{
    asm volatile("cp.async.bulk.tensor.${ rank }d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {${ after_four }}], [%2], %3;"
                 :: "r"(shared_address(dst)), "l"(map), "r"(shared_address(full)), "h"((unsigned short)mask), ${ operands } : "memory");
}
