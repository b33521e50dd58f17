template <class T> __device__ T bitor_of(T x, T other) { return x | other; }
