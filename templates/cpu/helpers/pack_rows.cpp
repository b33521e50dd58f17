// panels[p][k][r] = src[(p * WIDTH + r) * pitch + k], or 0 in a row from `rows` on.
template <class T, class S, int PANELS, int DEPTH, int WIDTH>
static void pack_rows(T (&panels)[PANELS][DEPTH][WIDTH], const S* src, int pitch, int rows,
                      int depth)
{
    for (int p = 0; p < PANELS && p * WIDTH < rows; ++p) {
        const int inside = std::min(rows - p * WIDTH, WIDTH);
        const S* corner = src + p * WIDTH * pitch;
        if (inside == WIDTH) {
            for (int k = 0; k < depth; ++k)
                for (int r = 0; r < WIDTH; ++r) panels[p][k][r] = T(corner[r * pitch + k]);
        } else {
            for (int k = 0; k < depth; ++k)
                for (int r = 0; r < WIDTH; ++r)
                    panels[p][k][r] = r < inside ? T(corner[r * pitch + k]) : T();
        }
    }
}
