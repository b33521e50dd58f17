template <class T> __device__ T bitand_of(T x, T other) { return x & other; }
