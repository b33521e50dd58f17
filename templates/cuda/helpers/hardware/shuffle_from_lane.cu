// x of the lane `source`.
template <class T> __device__ T shuffle_from_lane(T x, int source)
{
    return __shfl_sync(0xffffffff, x, source);
}
