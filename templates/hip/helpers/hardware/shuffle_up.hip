// x of the lane `offset` below this one.
template <class T> __device__ T shuffle_up(T x, int offset) { return __shfl_up(x, offset); }
