template <class V> static inline V abs(V x) { return x > V{} ? x : V{} - x; }
