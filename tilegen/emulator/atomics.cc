// Atomic words, by the host's own atomics: blocks run on several OS threads.
#include "scheduler.h"

#include "atomics.h"

namespace tilegen_emulator {

template <class Word> static bool exchange(void* pointer, uint64_t& before, uint64_t after)
{
    Word expected = Word(before);
    const bool done = __atomic_compare_exchange_n(static_cast<Word*>(pointer), &expected, Word(after), false,
                                                  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    before = expected;
    return done;
}

uint64_t load_word(const void* pointer, size_t bytes)
{
    switch (bytes) {
    case 1: return __atomic_load_n(static_cast<const uint8_t*>(pointer), __ATOMIC_SEQ_CST);
    case 2: return __atomic_load_n(static_cast<const uint16_t*>(pointer), __ATOMIC_SEQ_CST);
    case 4: return __atomic_load_n(static_cast<const uint32_t*>(pointer), __ATOMIC_SEQ_CST);
    default: return __atomic_load_n(static_cast<const uint64_t*>(pointer), __ATOMIC_SEQ_CST);
    }
}

bool exchange_word(void* pointer, size_t bytes, uint64_t& before, uint64_t after)
{
    switch (bytes) {
    case 1: return exchange<uint8_t>(pointer, before, after);
    case 2: return exchange<uint16_t>(pointer, before, after);
    case 4: return exchange<uint32_t>(pointer, before, after);
    default: return exchange<uint64_t>(pointer, before, after);
    }
}

// A thread that does nothing but atomics may be waiting for another one: let that one run.
void touch_atomic(void* pointer, size_t bytes, Place at)
{
    Thread& thread = *worker->running;
    check_atomic(pointer, bytes, at);
    if (++thread.spins % 64 == 0) yield(at);
}

} // namespace tilegen_emulator
