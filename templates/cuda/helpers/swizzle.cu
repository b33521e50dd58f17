// Where element `col` of a row of COLS lies: pieces of 16 bytes change places by the row, so that
// eight rows below each other are in different banks. Columns a SPAN apart stay a SPAN apart.
template <class T, int COLS> __device__ int swizzle(int row, int col)
{
    constexpr int PIECE = 16 / sizeof(T);
    constexpr int PIECES = COLS / PIECE;
    constexpr int GROUP = PIECES % 8 == 0 ? 8 : PIECES & -PIECES;  // pieces that change places
    constexpr int SPAN = GROUP * PIECE;
    return col / SPAN * SPAN + (col % SPAN ^ row / (8 / GROUP) % GROUP * PIECE);
}
