// Atomic read-modify-write on shared and global memory. Blocks run on several OS threads, so these
// are atomic for the host too.
#pragma once
#include "collectives.h"

namespace tilegen_emulator {

// The bits of an atomic word of 1, 2, 4 or 8 bytes: in the runtime, so that they are not instrumented.
uint64_t load_word(const void* pointer, size_t bytes);
bool exchange_word(void* pointer, size_t bytes, uint64_t& before, uint64_t after);

// The type itself, in a form from which template arguments are not deduced: the pointer decides.
template <class T> struct Same {
    typedef T type;
};
template <class T> using Exactly = typename Same<T>::type;

// Applies `change` to *pointer until nobody interfered; returns the old value.
template <class T, class Change> inline T atomic_update(T* pointer, Change change, Place at)
{
    touch_atomic(pointer, sizeof(T), at);
    uint64_t before = load_word(pointer, sizeof(T)), after;
    T value;
    do {
        memcpy(&value, &before, sizeof(T));
        const T changed = change(value);
        after = 0;
        memcpy(&after, &changed, sizeof(T));
    } while (!exchange_word(pointer, sizeof(T), before, after));
    return value;
}

#define TILEGEN_ATOMIC(NAME, EXPRESSION)                                                                     \
    template <class T> inline T NAME(T* pointer, Exactly<T> value, TILEGEN_AT)                               \
    {                                                                                                        \
        return atomic_update(pointer, [=](T old) { return T(EXPRESSION); }, at);                             \
    }                                                                                                        \
    template <class T> inline T NAME##_block(T* pointer, Exactly<T> value, TILEGEN_AT)                       \
    { return NAME(pointer, value, at); }                                                                     \
    template <class T> inline T NAME##_system(T* pointer, Exactly<T> value, TILEGEN_AT)                      \
    { return NAME(pointer, value, at); }

TILEGEN_ATOMIC(atomicAdd, old + value)
TILEGEN_ATOMIC(atomicSub, old - value)
TILEGEN_ATOMIC(atomicMin, value < old ? value : old)
TILEGEN_ATOMIC(atomicMax, old < value ? value : old)
TILEGEN_ATOMIC(atomicAnd, old& value)
TILEGEN_ATOMIC(atomicOr, old | value)
TILEGEN_ATOMIC(atomicXor, old ^ value)
TILEGEN_ATOMIC(atomicExch, value)
TILEGEN_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
TILEGEN_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef TILEGEN_ATOMIC
template <class T> inline T unsafeAtomicAdd(T* p, Exactly<T> value, TILEGEN_AT)
{ return atomicAdd(p, value, at); }

template <class T> inline T atomicCAS(T* pointer, Exactly<T> compare, Exactly<T> value, TILEGEN_AT)
{
    return atomic_update(pointer, [=](T old) { return old == compare ? value : old; }, at);
}

inline half2 atomicAdd(half2* pointer, half2 value, TILEGEN_AT)
{
    atomicAdd(&pointer->x, value.x, at);
    atomicAdd(&pointer->y, value.y, at);
    return value;
}

} // namespace tilegen_emulator
