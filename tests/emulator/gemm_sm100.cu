// C[M, N] = A[M, K] * B[N, K]^T in bfloat16 for clusters of two blocks that walk over tiles: one thread keeps a ring of
// stages full by TMA, B is shared within the cluster by multicast, one thread multiplies into tensor memory, where two
// tiles have room, and four warps take sums from there, a row for each thread, and store them by TMA.
constexpr int BM = 128, BN = 64, BK = 64, STAGES = 2, CLUSTER = 2, ROWS = 128, THREADS = 192, WIDTH = 64;
constexpr int ACCUMULATORS = 2, COLUMNS = ACCUMULATORS * BN;
// float sums, bfloat16 operands, BN columns, BM rows
constexpr unsigned PRODUCT = 1 << 4 | 1 << 7 | 1 << 10 | BN / 8 << 17 | BM / 16 << 24;

struct Smem {
    alignas(1024) unsigned short A_shared[STAGES][BM * BK];
    alignas(1024) unsigned short B_shared[STAGES][BN * BK];
    alignas(1024) unsigned short C_shared[BM * WIDTH];
    unsigned long long full[STAGES], empty[STAGES], complete[ACCUMULATORS], drained[ACCUMULATORS];
    unsigned columns;
};

template <int COUNT> struct Slot {
    int stage = 0;
    unsigned phase = 0;
    __device__ void next() { if (++stage == COUNT) { stage = 0; phase ^= 1; } }
};

// 128-byte rows, swizzled; groups of eight rows lie 1024 bytes apart.
__device__ unsigned long long operand(const unsigned short* tile)
{
    return (shared_address(tile) & 0x3ffff) >> 4 | 64ull << 32 | 1ull << 46 | 2ull << 61;
}

__device__ void producer(Smem& s, const CUtensorMap* A, const CUtensorMap* B, int tiles, int k_steps)
{
    const int half = cluster_rank() * (BN / CLUSTER);
    Slot<STAGES> slot;
    for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER)
        for (int k = 0; k < k_steps; ++k, slot.next()) {
            mbarrier_wait(&s.empty[slot.stage], slot.phase ^ 1);
            mbarrier_arrive_expect(&s.full[slot.stage], sizeof s.A_shared[0] + sizeof s.B_shared[0]);
            tma_load_2d(s.A_shared[slot.stage], A, &s.full[slot.stage], k * BK, cluster_rank() * BM);
            tma_load_2d_multicast(s.B_shared[slot.stage] + half * BK, B, &s.full[slot.stage], k * BK,
                                  tile * BN + half, 3);
        }
    for (int i = 0; i < STAGES; ++i, slot.next()) mbarrier_wait(&s.empty[slot.stage], slot.phase ^ 1);
}

__device__ void multiplier(Smem& s, int tiles, int k_steps)
{
    Slot<STAGES> slot;
    Slot<ACCUMULATORS> turn;
    for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER, turn.next()) {
        mbarrier_wait(&s.drained[turn.stage], turn.phase ^ 1);
        tcgen05_fence_after();
        for (int k = 0; k < k_steps; ++k, slot.next()) {
            mbarrier_wait(&s.full[slot.stage], slot.phase);
            tcgen05_fence_after();
            const unsigned long long a = operand(s.A_shared[slot.stage]), b = operand(s.B_shared[slot.stage]);
            for (int kk = 0; kk < BK / 16; ++kk)
                tcgen05_mma_f16(s.columns + turn.stage * BN, a + 2 * kk, b + 2 * kk, PRODUCT, k | kk);
            tcgen05_commit_multicast(&s.empty[slot.stage], 3);
        }
        tcgen05_commit(&s.complete[turn.stage]);
    }
    for (int i = 0; i < ACCUMULATORS; ++i, turn.next()) mbarrier_wait(&s.drained[turn.stage], turn.phase ^ 1);
}

__device__ void epilogue(Smem& s, const CUtensorMap* C, int tiles)
{
    const int row = threadIdx.x, warp = threadIdx.x / 32;
    Slot<ACCUMULATORS> turn;
    for (int tile = blockIdx.x / CLUSTER; tile < tiles; tile += gridDim.x / CLUSTER, turn.next()) {
        float sums[BN];
        mbarrier_wait(&s.complete[turn.stage], turn.phase);
        tcgen05_fence_after();
        for (int j = 0; j < BN; j += 32)
            tcgen05_load_x32(sums + j, s.columns + turn.stage * BN + j + (warp * 32 << 16));
        tcgen05_wait_load();
        tcgen05_fence_before();
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(&s.drained[turn.stage]);
        if (threadIdx.x == 0) tma_store_wait_read<0>();
        named_barrier_sync(1, ROWS);
        for (int j = 0; j < BN; j += 2)
            *reinterpret_cast<unsigned*>(&s.C_shared[row * WIDTH + (j / 8 ^ row % 8) * 8 + j % 8]) =
                pack_bfloat16(sums[j], sums[j + 1]);
        fence_async_proxy();
        named_barrier_sync(1, ROWS);
        if (threadIdx.x == 0) {
            tma_store_2d(C, s.C_shared, tile * BN, cluster_rank() * BM);
            tma_store_commit();
        }
    }
    if (threadIdx.x == 0) tma_store_wait_read<0>();
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
gemm(const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B,
     const __grid_constant__ CUtensorMap C, int N, int K)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    Smem& s = *reinterpret_cast<Smem*>(shared);
    const int warp = threadIdx.x / 32, tiles = (N + BN - 1) / BN, k_steps = (K + BK - 1) / BK;
    if (threadIdx.x == ROWS) {
        for (int i = 0; i < STAGES; ++i) {
            mbarrier_init(&s.full[i], 1);
            mbarrier_init(&s.empty[i], CLUSTER);
        }
        for (int i = 0; i < ACCUMULATORS; ++i) {
            mbarrier_init(&s.complete[i], 1);
            mbarrier_init(&s.drained[i], ROWS / 32);
        }
        fence_mbarrier_init();
    }
    if (warp == 5) {
        tcgen05_alloc<COLUMNS>(&s.columns);
        tcgen05_relinquish();
    }
    cluster_sync();
    if (threadIdx.x == ROWS) producer(s, &A, &B, tiles, k_steps);
    if (warp == 5) {
        if (threadIdx.x % 32 == 0) multiplier(s, tiles, k_steps);
        __syncwarp();
        tcgen05_dealloc<COLUMNS>(s.columns);
    }
    if (threadIdx.x < ROWS) epilogue(s, &C, tiles);
}
