// panels[p][k][c] = src[k * pitch + p * WIDTH + c], or 0 in a column from `columns` on: one
// element at a time.
template <class T, class S, int PANELS, int DEPTH, int WIDTH>
static void pack_single_columns(T (&panels)[PANELS][DEPTH][WIDTH], const S* src, int pitch, int depth,
                                int columns)
{
    for (int p = 0; p < PANELS && p * WIDTH < columns; ++p) {
        const int inside = std::min(columns - p * WIDTH, WIDTH);
        for (int k = 0; k < depth; ++k) {
            const S* row = src + k * pitch + p * WIDTH;
            if (inside == WIDTH)
                for (int c = 0; c < WIDTH; ++c) panels[p][k][c] = T(row[c]);
            else
                for (int c = 0; c < WIDTH; ++c) panels[p][k][c] = c < inside ? T(row[c]) : T();
        }
    }
}
