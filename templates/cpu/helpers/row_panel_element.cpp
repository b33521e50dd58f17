// Element (row, col) of a tile that lies in panels of WIDTH rows.
template <class T, int PANELS, int COLUMNS, int WIDTH>
static inline T& row_panel_element(T (&tile)[PANELS][COLUMNS][WIDTH], int row, int col)
{
    return tile[row / WIDTH][col][row % WIDTH];
}
