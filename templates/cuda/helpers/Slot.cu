// A stage of a ring, and the parity of the round in which it is used.
template <int STAGES> struct Slot {
    int stage = 0;
    unsigned phase = 0;

    __device__ void next()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};
