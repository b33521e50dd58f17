// x of the lane `offset` above this one.
template <class T> __device__ T shuffle_down(T x, int offset) { return __shfl_down(x, offset); }
