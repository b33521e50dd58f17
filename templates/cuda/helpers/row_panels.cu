// The place of this block when the grid is walked in panels of PANEL rows, each column by column: blocks
// that run at the same time share operands in the L2 cache. The last panel may have fewer rows.
template <int PANEL> __device__ void row_panels(int& x, int& y)
{
    const int length = gridDim.x, block = blockIdx.y * gridDim.x + blockIdx.x;
    const int first = block / (PANEL * length) * PANEL, within = block - first * length;
    const int rest = gridDim.y - first, count = rest < PANEL ? rest : PANEL;
    x = within / count;
    y = first + within % count;
}
