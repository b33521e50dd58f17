template <class V> static inline V min(V a, V b) { return a < b ? a : b; }
