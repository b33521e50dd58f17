// Rows `low` and `high` (8 further down) of one tile: += a * b.
__device__ void mma_m16n8k8_f16(float* low, float* high, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(low[0]), "+f"(low[1]), "+f"(high[0]), "+f"(high[1])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
