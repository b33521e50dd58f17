template <class T> __device__ T bitxor_of(T x, T other) { return x ^ other; }
