// An operand whose rows run along the depth, from row `row` and depth k on; it has ROWS rows.
// Addresses of descriptors count 16 bytes.
template <int ROWS, class T>
__device__ unsigned long long rows_operand(const T* tile, int row, int k)
{
    constexpr int PIECE = 128 / sizeof(T), CHUNK = 16 / sizeof(T);
    return matrix_descriptor(tile, 16) + ((k / PIECE * ROWS + row) * PIECE + k % PIECE) / CHUNK;
}
