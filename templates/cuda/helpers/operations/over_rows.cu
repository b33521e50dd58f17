// ${ result | capitalize } over the ROWS rows of threads, in each of WIDTH columns; this thread is at (row, col).
template <int ROWS, int WIDTH, class T>
__device__ T ${ operation }_over_rows(T x, T* scratch, int row, int col)
{
    scratch[row * WIDTH + col] = x;
    __syncthreads();        // why: all values are there
    x = scratch[col];
    for (int i = 1; i < ROWS; ++i) x = ${ operation }_of(x, scratch[i * WIDTH + col]);
    __syncthreads();        // why: scratch may be used again
    return x;
}
