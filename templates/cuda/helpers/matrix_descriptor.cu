// How wgmma finds an operand in shared memory: rows of 128 bytes whose 16-byte pieces are
// swizzled, 1024 bytes for 8 of them, and `slab` bytes to the next 128-byte column of the tile.
__device__ unsigned long long matrix_descriptor(const void* at, int slab)
{
    return (shared_address(at) & 0x3ffff) >> 4 | (unsigned long long)(slab >> 4) << 16 | 64ull << 32
           | 1ull << 62;
}
