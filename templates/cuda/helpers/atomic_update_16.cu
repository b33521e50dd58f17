// *p = change(*p), as one step for all threads; the value before. T has 16 bits.
template <class T, class Change> __device__ T atomic_update_16(T* p, Change change)
{
    unsigned short* const word = reinterpret_cast<unsigned short*>(p);
    unsigned short seen = 0, old;       // a guess, which the first exchange corrects
    do {
        old = seen;
        const T changed = change(__builtin_bit_cast(T, old));
        seen = atomicCAS(word, old, __builtin_bit_cast(unsigned short, changed));
    } while (seen != old);
    return __builtin_bit_cast(T, old);
}
