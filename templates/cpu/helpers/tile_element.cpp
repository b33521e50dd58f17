// Element (row, col) of a tile that lies in register tiles.
template <class T, int PANELS, int TILES>
static inline T& tile_element(T (&tile)[PANELS][TILES][MR][NR], int row, int col)
{
    return tile[row / MR][col / NR][row % MR][col % NR];
}
