// Two matrices of 8 x 8 16-bit elements, transposed; lane l names row l % 8 of matrix l / 8 % 2.
__device__ void ldmatrix_x2_transposed(unsigned* r, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(row)));
}
