template <class T> static inline T power_of_ten(T x) { return std::pow(T(10), x); }
