static constexpr long long lowest_int64() { return std::numeric_limits<long long>::lowest(); }
