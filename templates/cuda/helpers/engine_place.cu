// Where an element of a tile of ROWS rows lies: columns of 128 bytes below each other, whose 16-byte
// pieces change places by the row.
template <class T, int ROWS> __device__ int engine_place(int row, int col)
{
    constexpr int PIECE = 128 / sizeof(T), CHUNK = 16 / sizeof(T);
    return (col / PIECE * ROWS + row) * PIECE + (col % PIECE / CHUNK ^ row % 8) * CHUNK + col % CHUNK;
}
