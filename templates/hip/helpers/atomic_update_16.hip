// *p = change(*p), as one step for all threads, through the 32 bits around it. T has 16 bits.
template <class T, class Change> __device__ T atomic_update_16(T* p, Change change)
{
    const unsigned long long address = reinterpret_cast<unsigned long long>(p);
    unsigned* const word = reinterpret_cast<unsigned*>(address - address % 4);
    const int shift = address % 4 * 8;
    unsigned seen = 0, old;             // a guess, which the first exchange corrects
    unsigned short before;
    do {
        old = seen;
        before = static_cast<unsigned short>(old >> shift);
        const T changed = change(__builtin_bit_cast(T, before));
        const unsigned after = __builtin_bit_cast(unsigned short, changed);
        seen = atomicCAS(word, old, (old & ~(0xffffu << shift)) | (after << shift));
    } while (seen != old);
    return __builtin_bit_cast(T, before);
}
