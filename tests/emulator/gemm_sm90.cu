// C[M, N] = A[M, K] * B[N, K]^T in bfloat16 for a cluster of two blocks: one producer thread keeps a ring of
// stages full by TMA, B is shared within the cluster by multicast, one warpgroup multiplies, TMA stores C.
constexpr int BM = 64, BN = 128, BK = 64, STAGES = 2, CLUSTER = 2, THREADS = 256;

struct Smem {
    alignas(1024) unsigned short A_shared[STAGES][BM * BK];
    alignas(1024) unsigned short B_shared[STAGES][BN * BK];
    alignas(1024) unsigned short C_shared[BN / 64][BM * 64];
    unsigned long long full[STAGES], empty[STAGES];
};

struct Slot {
    int stage = 0;
    unsigned phase = 0;
    __device__ void next() { if (++stage == STAGES) { stage = 0; phase ^= 1; } }
};

// 128-byte rows, swizzled; groups of eight rows lie 1024 bytes apart.
__device__ unsigned long long operand(const unsigned short* tile)
{
    return (shared_address(tile) & 0x3ffff) >> 4 | 64ull << 32 | 1ull << 62;
}

__device__ void producer(Smem& s, const CUtensorMap* A, const CUtensorMap* B, int m, int n, int k_steps)
{
    const int half = cluster_rank() * (BN / CLUSTER);
    Slot slot;
    for (int k = 0; k < k_steps; ++k, slot.next()) {
        mbarrier_wait(&s.empty[slot.stage], slot.phase ^ 1);
        mbarrier_arrive_expect(&s.full[slot.stage], sizeof s.A_shared[0] + sizeof s.B_shared[0]);
        tma_load_2d(s.A_shared[slot.stage], A, &s.full[slot.stage], k * BK, m);
        tma_load_2d_multicast(s.B_shared[slot.stage] + half * BK, B, &s.full[slot.stage], k * BK, n + half, 3);
    }
    for (int i = 0; i < STAGES; ++i, slot.next()) mbarrier_wait(&s.empty[slot.stage], slot.phase ^ 1);
}

__device__ void consumer(Smem& s, const CUtensorMap* C, int m, int n, int k_steps)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sums[BN / 2];
    Slot slot;
    for (int k = 0; k < k_steps; ++k, slot.next()) {
        mbarrier_wait(&s.full[slot.stage], slot.phase);
        const unsigned long long a = operand(s.A_shared[slot.stage]), b = operand(s.B_shared[slot.stage]);
        wgmma_fence();
        for (int kk = 0; kk < BK / 16; ++kk) wgmma_ss<bfloat16>(sums, a + 2 * kk, b + 2 * kk, k | kk);
        wgmma_commit();
        wgmma_wait<0>();
        if (lane < CLUSTER) mbarrier_arrive_remote(&s.empty[slot.stage], lane);
    }
    for (int j = 0; j < BN / 8; j += 2) {
        const int row = warp * 16 + lane % 16, chunk = j % 8 + lane / 16;
        unsigned packed[4];
        for (int i = 0; i < 4; ++i) packed[i] = pack_bfloat16(sums[j * 4 + 2 * i], sums[j * 4 + 2 * i + 1]);
        stmatrix_x4(&s.C_shared[j / 8][row * 64 + (chunk ^ row % 8) * 8], packed);
    }
    fence_async_proxy();
    named_barrier_sync(1, 128);
    if (threadIdx.x == 0) {
        for (int slab = 0; slab < BN / 64; ++slab) tma_store_2d(C, s.C_shared[slab], n + slab * 64, m);
        tma_store_commit();
        tma_store_wait<0>();
    }
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
     const __grid_constant__ CUtensorMap C, int K)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    Smem& s = *reinterpret_cast<Smem*>(shared);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(&s.full[i], 1);
            mbarrier_init(&s.empty[i], 4 * CLUSTER);
        }
        fence_mbarrier_init();
    }
    cluster_sync();
    const int m = blockIdx.x * BM, n = blockIdx.y * BN, k_steps = (K + BK - 1) / BK;
    if (threadIdx.x >= 128) {
        setmaxnreg_dec<40>();
        if (threadIdx.x == 128) producer(s, &A, &B, m, n, k_steps);
    } else {
        setmaxnreg_inc<256>();
        consumer(s, &C, m, n, k_steps);
    }
}
