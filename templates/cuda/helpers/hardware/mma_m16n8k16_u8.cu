// Rows `low` and `high` (8 further down) of one tile: += a * b.
__device__ void mma_m16n8k16_u8(int* low, int* high, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+r"(low[0]), "+r"(low[1]), "+r"(high[0]), "+r"(high[1])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
