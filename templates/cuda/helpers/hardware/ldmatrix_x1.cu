// A matrix of 8 rows of 16 bytes; lane l names row l % 8.
__device__ void ldmatrix_x1(unsigned* r, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r[0]) : "r"(shared_address(row)));
}
