// An operand whose rows run along the depth, from row `row` and depth k on; it has ROWS rows.
template <int ROWS, class T>
__device__ unsigned long long rows_operand(const T* tile, int row, int k)
{
    constexpr int PIECE = 128 / sizeof(T);
    return matrix_descriptor(tile + (k / PIECE * ROWS + row) * PIECE + k % PIECE, 16);
}
