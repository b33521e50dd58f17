// A box from shared memory to (${ names }) of a tensor, x along its rows, in the background; what lies
// outside of the tensor is left out.
__device__ void tma_store_${ rank }d(const TensorMap* map, const void* src, ${ parameters })
{
    asm volatile("cp.async.bulk.tensor.${ rank }d.global.shared::cta.bulk_group [%0, {${ after_two }}], [%1];"
                 :: "l"(map), "r"(shared_address(src)), ${ operands } : "memory");
}
