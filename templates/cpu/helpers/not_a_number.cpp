static constexpr float not_a_number() { return std::numeric_limits<float>::quiet_NaN(); }
