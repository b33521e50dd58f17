template <class T> __device__ bool is_nan(T x) { return x != x; }
