// Sets the register tiles that hold the first `rows` and `columns`.
template <class T, int PANELS, int TILES>
static inline void fill_tiles(T (&tile)[PANELS][TILES][MR][NR], int rows, int columns, T value)
{
    for (int row = 0; row < rows; row += MR)
        for (int col = 0; col < columns; col += NR)
            std::fill_n(&tile[row / MR][col / NR][0][0], MR * NR, value);
}
