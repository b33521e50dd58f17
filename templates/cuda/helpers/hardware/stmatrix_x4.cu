// Four matrices of 8 rows of 16 bytes to shared memory; lane l names row l % 8 of matrix l / 8.
__device__ void stmatrix_x4(void* row, const unsigned* r)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
