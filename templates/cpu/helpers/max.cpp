template <class V> static inline V max(V a, V b) { return a > b ? a : b; }
