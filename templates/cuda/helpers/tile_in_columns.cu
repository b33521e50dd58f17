// The place of a tile in a grid that is walked in panels of PANEL columns, each row by row, so
// that tiles of the same time share operands in the L2 cache. The last panel may have fewer columns.
template <int PANEL> __device__ Place tile_in_columns(unsigned tile, unsigned columns, unsigned rows)
{
    const unsigned first = tile / (PANEL * rows) * PANEL, within = tile - first * rows;
    const unsigned rest = columns - first, count = rest < PANEL ? rest : PANEL;
    const unsigned along = within / count, across = first + within - along * count;
    return {int(across), int(along)};
}
