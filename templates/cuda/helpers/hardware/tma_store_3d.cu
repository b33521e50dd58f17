// A box from shared memory to (x, y, z) of a tensor, x along its rows, in the background; what lies outside of
// the tensor is left out.
__device__ void tma_store_3d(const TensorMap* map, const void* src, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
                 :: "l"(map), "r"(shared_address(src)), "r"(x), "r"(y), "r"(z) : "memory");
}
