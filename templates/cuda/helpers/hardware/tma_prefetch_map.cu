// The copy engine will soon use this map.
__device__ void tma_prefetch_map(const TensorMap* map)
{
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}
