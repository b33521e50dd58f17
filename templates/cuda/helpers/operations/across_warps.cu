// ${ result | capitalize } over groups of WIDTH neighbouring threads, a multiple of a warp; every thread gets it.
template <int WIDTH, class T> __device__ T ${ operation }_across_warps(T x, T* scratch)
{
    x = ${ operation }_in_warp<WARP>(x);
    if (threadIdx.x % WARP == 0) scratch[threadIdx.x / WARP] = x;
    __syncthreads();        // why: the results of all warps are there
    const T* group = scratch + threadIdx.x / WIDTH * (WIDTH / WARP);
    x = group[0];
    #pragma unroll
    for (int warp = 1; warp < WIDTH / WARP; ++warp) x = ${ operation }_of(x, group[warp]);
    __syncthreads();        // why: scratch may be used again
    return x;
}
