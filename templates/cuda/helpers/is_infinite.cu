template <class T> __device__ bool is_infinite(T x) { return x == x && x - x != 0; }
