// The place of a tile in a grid that is walked in panels of PANEL rows, each column by column, so
// that tiles of the same time share operands in the L2 cache. The last panel may have fewer rows.
template <int PANEL> __device__ Place tile_in_rows(unsigned tile, unsigned columns, unsigned rows)
{
    const unsigned first = tile / (PANEL * columns) * PANEL, within = tile - first * columns;
    const unsigned rest = rows - first, count = rest < PANEL ? rest : PANEL;
    const unsigned along = within / count, across = first + within - along * count;
    return {int(along), int(across)};
}
