// The place of this block when the grid is walked in panels of PANEL columns, each row by row: blocks
// that run at the same time share operands in the L2 cache. The last panel may have fewer columns.
template <int PANEL> __device__ void column_panels(int& x, int& y)
{
    const int length = gridDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;
    const int first = block / (PANEL * length) * PANEL, within = block - first * length;
    const int rest = gridDim.x - first, count = rest < PANEL ? rest : PANEL;
    y = within / count;
    x = first + within % count;
}
