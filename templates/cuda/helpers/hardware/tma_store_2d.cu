// A box from shared memory to (x, y) of a tensor, x along its rows, in the background; what lies outside of
// the tensor is left out.
__device__ void tma_store_2d(const TensorMap* map, const void* src, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 :: "l"(map), "r"(shared_address(src)), "r"(x), "r"(y) : "memory");
}
