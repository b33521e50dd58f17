// A box from shared memory to (x, y, z, u, v) of a tensor, x along its rows, in the background; what lies outside of
// the tensor is left out.
__device__ void tma_store_5d(const TensorMap* map, const void* src, int x, int y, int z, int u, int v)
{
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 :: "l"(map), "r"(shared_address(src)), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}
