// *p = change(*p), as one step for all threads; the value before. T is as large as Word.
template <class Word, class T, class Change> __device__ T atomic_update(T* p, Change change)
{
    Word* const word = reinterpret_cast<Word*>(p);
    Word seen = 0, old;         // a guess, which the first exchange corrects
    do {
        old = seen;
        const T changed = change(__builtin_bit_cast(T, old));
        seen = atomicCAS(word, old, __builtin_bit_cast(Word, changed));
    } while (seen != old);
    return __builtin_bit_cast(T, old);
}
