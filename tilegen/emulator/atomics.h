// Atomic read-modify-write on shared and global memory. Blocks run on several OS threads, so these
// are atomic for the host too.
#pragma once
#include "collectives.h"

namespace tilegen_emulator {

template <int BYTES> struct WordOf;
template <> struct WordOf<1> { typedef uint8_t type; };
template <> struct WordOf<2> { typedef uint16_t type; };
template <> struct WordOf<4> { typedef uint32_t type; };
template <> struct WordOf<8> { typedef uint64_t type; };

// The type itself, in a form from which template arguments are not deduced: the pointer decides.
template <class T> struct Same { typedef T type; };
template <class T> using Exactly = typename Same<T>::type;

// Applies `change` to *pointer until nobody interfered; returns the old value.
template <class T, class Change>
TILEGEN_PLAIN inline T atomic_update(T* pointer, Change change, Place at)
{
    typedef typename WordOf<sizeof(T)>::type Word;
    touch_atomic(pointer, sizeof(T), at);
    Word* word = reinterpret_cast<Word*>(pointer);
    Word before = __atomic_load_n(word, __ATOMIC_SEQ_CST), after;
    T value;
    do {
        memcpy(&value, &before, sizeof(T));
        const T changed = change(value);
        memcpy(&after, &changed, sizeof(T));
    } while (!__atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return value;
}

#define TILEGEN_ATOMIC(NAME, EXPRESSION)                                                           \
    template <class T> inline T NAME(T* pointer, Exactly<T> value, TILEGEN_AT)                     \
    {                                                                                              \
        return atomic_update(pointer, [=](T old) { return T(EXPRESSION); }, at);                   \
    }                                                                                              \
    template <class T> inline T NAME##_block(T* pointer, Exactly<T> value, TILEGEN_AT)             \
    {                                                                                              \
        return NAME(pointer, value, at);                                                           \
    }                                                                                              \
    template <class T> inline T NAME##_system(T* pointer, Exactly<T> value, TILEGEN_AT)            \
    {                                                                                              \
        return NAME(pointer, value, at);                                                           \
    }

TILEGEN_ATOMIC(atomicAdd, old + value)
TILEGEN_ATOMIC(atomicSub, old - value)
TILEGEN_ATOMIC(atomicMin, value < old ? value : old)
TILEGEN_ATOMIC(atomicMax, old < value ? value : old)
TILEGEN_ATOMIC(atomicAnd, old & value)
TILEGEN_ATOMIC(atomicOr, old | value)
TILEGEN_ATOMIC(atomicXor, old ^ value)
TILEGEN_ATOMIC(atomicExch, value)
TILEGEN_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
TILEGEN_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef TILEGEN_ATOMIC
template <class T> inline T unsafeAtomicAdd(T* p, Exactly<T> value, TILEGEN_AT) { return atomicAdd(p, value, at); }

template <class T>
inline T atomicCAS(T* pointer, Exactly<T> compare, Exactly<T> value, TILEGEN_AT)
{
    return atomic_update(pointer, [=](T old) { return old == compare ? value : old; }, at);
}

inline half2 atomicAdd(half2* pointer, half2 value, TILEGEN_AT)
{
    atomicAdd(&pointer->x, value.x, at);
    atomicAdd(&pointer->y, value.y, at);
    return value;
}

}  // namespace tilegen_emulator
