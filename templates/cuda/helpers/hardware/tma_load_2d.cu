// The box of a tensor at (x, y), x along its rows, to shared memory in the background;
// what lies outside of the tensor is zero. `full` counts its bytes.
__device__ void tma_load_2d(void* dst, const TensorMap* map, unsigned long long* full, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];"
                 :: "r"(shared_address(dst)), "l"(map), "r"(shared_address(full)), "r"(x), "r"(y) : "memory");
}
