// panels[p][k][c] = src[k * pitch + p * WIDTH + c], or 0 in a column from `columns` on.
// LOAD reads a vector of S, converted to T.
template <auto LOAD, class T, class S, int PANELS, int DEPTH, int WIDTH>
static void pack_columns(T (&panels)[PANELS][DEPTH][WIDTH], const S* src, int pitch, int depth,
                         int columns)
{
    constexpr int STEP = sizeof LOAD(src) / sizeof(T);
    for (int p = 0; p < PANELS && p * WIDTH < columns; ++p) {
        const int inside = std::min(columns - p * WIDTH, WIDTH);
        for (int k = 0; k < depth; ++k) {
            const S* row = src + k * pitch + p * WIDTH;
            T* panel = panels[p][k];
            if (inside == WIDTH)
                for (int c = 0; c < WIDTH; c += STEP) {
                    const auto x = LOAD(row + c);
                    memcpy(panel + c, &x, sizeof x);
                }
            else
                for (int c = 0; c < WIDTH; ++c) panel[c] = c < inside ? T(row[c]) : T();
        }
    }
}
