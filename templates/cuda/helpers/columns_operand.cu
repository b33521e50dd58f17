// An operand whose rows run across the depth, from column `col` and depth k on; it has DEPTH rows.
template <int DEPTH, class T>
__device__ unsigned long long columns_operand(const T* tile, int col, int k)
{
    constexpr int PIECE = 128 / sizeof(T), CHUNK = 16 / sizeof(T);
    return matrix_descriptor(tile, DEPTH * 128) + (col / PIECE * DEPTH + k) * (PIECE / CHUNK);
}
