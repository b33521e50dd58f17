// Four matrices of 8 rows of 16 bytes; lane l names row l % 8 of matrix l / 8.
__device__ void ldmatrix_x4(unsigned* r, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)));
}
