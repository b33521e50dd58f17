static constexpr float infinity() { return std::numeric_limits<float>::infinity(); }
