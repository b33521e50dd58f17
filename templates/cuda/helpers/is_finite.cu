template <class T> __device__ bool is_finite(T x) { return x - x == 0; }
