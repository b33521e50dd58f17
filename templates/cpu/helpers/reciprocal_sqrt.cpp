template <class T> static inline T reciprocal_sqrt(T x) { return 1 / std::sqrt(x); }
