// The row of this thread among warps of 8 x 4 threads, WARPS of them in a row: where Volta's mma
// instruction, whose quads of lanes have a product each, holds its accumulator.
template <int WARPS> __device__ int quad_row()
{
    const int lane = threadIdx.x % 32;
    return threadIdx.x / 32 / WARPS * 8 + lane / 16 * 4 + lane / 4 % 2 * 2 + lane % 2;
}
