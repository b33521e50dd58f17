static constexpr int lowest_int32() { return std::numeric_limits<int>::lowest(); }
