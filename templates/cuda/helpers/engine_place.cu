// Where an element of a tile of ROWS rows lies: columns of 128 bytes below each other, whose pieces
// of 16 bytes change places by the row.
template <class T, int ROWS> __device__ int engine_place(int row, int col)
{
    constexpr int PIECE = 128 / sizeof(T), CHUNK = 16 / sizeof(T);
    const int chunk = col % PIECE / CHUNK ^ row % 8;
    return (col / PIECE * ROWS + row) * PIECE + chunk * CHUNK + col % CHUNK;
}
