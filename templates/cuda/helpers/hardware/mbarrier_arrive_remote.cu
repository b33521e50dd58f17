// One arrival at the barrier in the same place of block `rank` of the cluster.
__device__ void mbarrier_arrive_remote(unsigned long long* barrier, unsigned rank)
{
    asm volatile("{ .reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; "
                 "mbarrier.arrive.shared::cluster.b64 _, [r]; }"
                 :: "r"(shared_address(barrier)), "r"(rank) : "memory");
}
