// The box of a tensor at (${ names }), x along its rows, to shared memory in the background;
// what lies outside of the tensor is zero. `full` counts its bytes.
__device__ void tma_load_${ rank }d(void* dst, const TensorMap* map, unsigned long long* full, ${ parameters })
{
    asm volatile("cp.async.bulk.tensor.${ rank }d.shared::${ "cta" if target.arch.startswith("sm_12") else "cluster" }.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {${ after_three }}], [%2];"
                 :: "r"(shared_address(dst)), "l"(map), "r"(shared_address(full)), ${ operands } : "memory");
}
