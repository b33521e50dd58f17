// x of the lane whose number differs in the bits of `offset`.
template <class T> __device__ T shuffle_xor(T x, int offset) { return __shfl_xor(x, offset); }
