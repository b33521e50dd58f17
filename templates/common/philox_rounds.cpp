    unsigned a = unsigned(counter >> 2), b = unsigned(counter >> 34);
    unsigned c = unsigned(sequence), d = unsigned(sequence >> 32);
    unsigned first = unsigned(seed), second = unsigned(seed >> 32);
//% if unroll is defined
    #pragma unroll
//% endif
    for (int round = 0; round < 10; ++round) {
        const unsigned long long left = 0xD2511F53ull * a, right = 0xCD9E8D57ull * c;
        a = unsigned(right >> 32) ^ b ^ first;
        b = unsigned(right);
        c = unsigned(left >> 32) ^ d ^ second;
        d = unsigned(left);
        first += 0x9E3779B9u;
        second += 0xBB67AE85u;
    }
    const unsigned word = counter % 4;
    return word == 0 ? a : word == 1 ? b : word == 2 ? c : d;
