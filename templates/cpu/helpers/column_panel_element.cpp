// Element (row, col) of a tile that lies in panels of WIDTH columns.
template <class T, int PANELS, int ROWS, int WIDTH>
static inline T& column_panel_element(T (&tile)[PANELS][ROWS][WIDTH], int row, int col)
{
    return tile[col / WIDTH][row][col % WIDTH];
}
