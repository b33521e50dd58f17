// Two matrices of 8 rows of 16 bytes; lane l names row l % 8 of matrix l / 8 % 2.
__device__ void ldmatrix_x2(unsigned* r, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}
