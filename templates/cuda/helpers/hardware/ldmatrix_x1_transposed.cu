// A matrix of 8 x 8 16-bit elements, transposed; lane l names row l % 8.
__device__ void ldmatrix_x1_transposed(unsigned* r, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(r[0]) : "r"(shared_address(row)));
}
