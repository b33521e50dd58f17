// ${ result | capitalize } over the COUNT threads whose numbers differ by multiples of STRIDE; every one gets it.
template <int COUNT, int STRIDE, class T> __device__ T ${ operation }_across_threads(T x, T* scratch)
{
    scratch[threadIdx.x] = x;
    __syncthreads();        // why: all values are there
    constexpr int GROUP = COUNT * STRIDE;
    const T* group = scratch + threadIdx.x / GROUP * GROUP + threadIdx.x % STRIDE;
    x = group[0];
    for (int i = 1; i < COUNT; ++i) x = ${ operation }_of(x, group[i * STRIDE]);
    __syncthreads();        // why: scratch may be used again
    return x;
}
