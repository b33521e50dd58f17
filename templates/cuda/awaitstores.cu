if (threadIdx.x % WARPGROUP == 0) tma_store_wait_read<0>();  // why: shared memory lives as long as the block
