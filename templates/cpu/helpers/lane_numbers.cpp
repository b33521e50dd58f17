static inline int32x8 lane_numbers() { return int32x8{0, 1, 2, 3, 4, 5, 6, 7}; }
