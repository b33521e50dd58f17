// Of a NaN and a number, the number.
template <class V> static inline V min(V a, V b) { return ((a < b) | (b != b)) ? a : b; }
