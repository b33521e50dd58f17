// A box from shared memory to (x, y, z, u) of a tensor, x along its rows, in the background; what lies outside of
// the tensor is left out.
__device__ void tma_store_4d(const TensorMap* map, const void* src, int x, int y, int z, int u)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 :: "l"(map), "r"(shared_address(src)), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
}
