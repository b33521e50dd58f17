// Barriers, shuffles, votes and fences.
#pragma once
#include "types.h"

namespace tilegen_emulator {

#define TILEGEN_AT Place at = Place::here()

inline void __syncthreads(TILEGEN_AT) { block_barrier(at); }
inline int __syncthreads_count(int p, TILEGEN_AT)
{
    int r[3];
    block_barrier_vote(p, r, at);
    return r[0];
}
inline int __syncthreads_and(int p, TILEGEN_AT)
{
    int r[3];
    block_barrier_vote(p, r, at);
    return r[1];
}
inline int __syncthreads_or(int p, TILEGEN_AT)
{
    int r[3];
    block_barrier_vote(p, r, at);
    return r[2];
}
inline void __syncwarp(uint64_t mask = all_lanes(), TILEGEN_AT) { warp_barrier(mask, at); }
inline void __builtin_amdgcn_s_barrier(TILEGEN_AT) { block_barrier(at, "s_barrier"); }
inline void __builtin_amdgcn_wave_barrier(TILEGEN_AT) { warp_barrier(all_lanes(), at); }
// The compiler must not move accesses across a fence; the host's own order is strong enough.
inline void __threadfence() { asm volatile("" ::: "memory"); }
inline void __threadfence_block() { asm volatile("" ::: "memory"); }
inline void __threadfence_system() { asm volatile("" ::: "memory"); }
inline void __nanosleep(unsigned, TILEGEN_AT) { yield(at); }

// Named barriers: `threads` counts everyone who arrives, whether or not they wait.
inline void named_barrier_sync(int id, int threads, TILEGEN_AT) { join_barrier(id, threads, true, at); }
inline void named_barrier_arrive(int id, int threads, TILEGEN_AT) { join_barrier(id, threads, false, at); }
inline void named_barrier(int id, int threads, TILEGEN_AT) { join_barrier(id, threads, true, at); }
inline void bar_sync(int id, int threads, TILEGEN_AT) { join_barrier(id, threads, true, at); }
inline void bar_arrive(int id, int threads, TILEGEN_AT) { join_barrier(id, threads, false, at); }

// ---- Shuffles ------------------------------------------------------------------------------------
template <class T> inline T shuffle_from(uint64_t mask, T value, unsigned source, Place at)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof(T));
    word = shuffle(mask, word, source, at);
    T result;
    memcpy(&result, &word, sizeof(T));
    return result;
}

template <class T> inline T __shfl_sync(uint64_t mask, T value, int source, int width = warpSize, TILEGEN_AT)
{
    const unsigned first = self().lane & ~unsigned(width - 1);
    return shuffle_from(mask, value, first | (unsigned(source) & unsigned(width - 1)), at);
}

template <class T>
inline T __shfl_xor_sync(uint64_t mask, T value, int offset, int width = warpSize, TILEGEN_AT)
{
    const unsigned lane = self().lane, source = lane ^ unsigned(offset);
    const unsigned end = (lane & ~unsigned(width - 1)) + unsigned(width);
    return shuffle_from(mask, value, source < end ? source : lane, at);
}

template <class T>
inline T __shfl_down_sync(uint64_t mask, T value, unsigned offset, int width = warpSize, TILEGEN_AT)
{
    const unsigned lane = self().lane, end = (lane & ~unsigned(width - 1)) + unsigned(width);
    return shuffle_from(mask, value, lane + offset < end ? lane + offset : lane, at);
}

template <class T>
inline T __shfl_up_sync(uint64_t mask, T value, unsigned offset, int width = warpSize, TILEGEN_AT)
{
    const unsigned lane = self().lane, first = lane & ~unsigned(width - 1);
    return shuffle_from(mask, value, lane - first >= offset ? lane - offset : lane, at);
}

template <class T> inline T __shfl(T value, int source, int width = warpSize, TILEGEN_AT)
{ return __shfl_sync(all_lanes(), value, source, width, at); }
template <class T> inline T __shfl_xor(T value, int offset, int width = warpSize, TILEGEN_AT)
{ return __shfl_xor_sync(all_lanes(), value, offset, width, at); }
template <class T> inline T __shfl_down(T value, unsigned offset, int width = warpSize, TILEGEN_AT)
{ return __shfl_down_sync(all_lanes(), value, offset, width, at); }
template <class T> inline T __shfl_up(T value, unsigned offset, int width = warpSize, TILEGEN_AT)
{ return __shfl_up_sync(all_lanes(), value, offset, width, at); }

// The emitted files' own names for a shuffle among the whole warp or wave.
template <class T> inline T shuffle_xor(T value, int offset, TILEGEN_AT)
{ return __shfl_xor_sync(all_lanes(), value, offset, warpSize, at); }
template <class T> inline T shuffle_down(T value, unsigned offset, TILEGEN_AT)
{ return __shfl_down_sync(all_lanes(), value, offset, warpSize, at); }
template <class T> inline T shuffle_up(T value, unsigned offset, TILEGEN_AT)
{ return __shfl_up_sync(all_lanes(), value, offset, warpSize, at); }
template <class T> inline T shuffle_from_lane(T value, int source, TILEGEN_AT)
{ return __shfl_sync(all_lanes(), value, source, warpSize, at); }
inline int __builtin_amdgcn_ds_bpermute(int byte_address, int value, TILEGEN_AT)
{ return shuffle_from(all_lanes(), value, unsigned(byte_address) / 4 % self().warp_size, at); }
inline int __builtin_amdgcn_readfirstlane(int value, TILEGEN_AT)
{ return shuffle_from(all_lanes(), value, 0, at); }

// ---- Votes ---------------------------------------------------------------------------------------
inline uint64_t ballot_word(uint64_t mask, bool value, Place at) { return vote(mask, value, at); }
inline unsigned __ballot_sync(uint64_t mask, int value, TILEGEN_AT)
{ return unsigned(vote(mask, value != 0, at)); }
inline unsigned long long __ballot(int value, TILEGEN_AT) { return vote(all_lanes(), value != 0, at); }
inline int __any_sync(uint64_t mask, int value, TILEGEN_AT) { return vote(mask, value != 0, at) != 0; }
inline int __all_sync(uint64_t mask, int value, TILEGEN_AT) { return vote(mask, value == 0, at) == 0; }
inline int __any(int value, TILEGEN_AT) { return __any_sync(all_lanes(), value, at); }
inline int __all(int value, TILEGEN_AT) { return __all_sync(all_lanes(), value, at); }
inline uint64_t __activemask() { return active_lanes(); }
template <class T> inline unsigned __match_any_sync(uint64_t mask, T value, TILEGEN_AT)
{
    uint64_t word = 0;
    memcpy(&word, &value, sizeof(T));
    return unsigned(match_any(mask, word, at));
}

// ---- Reductions over a warp ----------------------------------------------------------------------
template <class T, class Combine> inline T reduce_lanes(uint64_t mask, T value, Combine combine, Place at)
{
    T result = value;
    bool first = true;
    for (unsigned lane = 0; lane < self().warp_size; ++lane) {
        if (!(mask >> lane & 1)) continue;
        const T other = shuffle_from(mask, value, lane, at);
        result = first ? other : combine(result, other);
        first = false;
    }
    return result;
}
#define TILEGEN_REDUCE(NAME, T, EXPRESSION)                                                                  \
    inline T NAME(uint64_t mask, T value, TILEGEN_AT)                                                        \
    {                                                                                                        \
        return reduce_lanes(mask, value, [](T a, T b) { return T(EXPRESSION); }, at);                        \
    }
TILEGEN_REDUCE(__reduce_add_sync, unsigned, a + b)
TILEGEN_REDUCE(__reduce_add_sync, int, a + b)
TILEGEN_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
TILEGEN_REDUCE(__reduce_min_sync, int, a < b ? a : b)
TILEGEN_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
TILEGEN_REDUCE(__reduce_max_sync, int, a > b ? a : b)
TILEGEN_REDUCE(__reduce_and_sync, unsigned, a& b)
TILEGEN_REDUCE(__reduce_or_sync, unsigned, a | b)
TILEGEN_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef TILEGEN_REDUCE

} // namespace tilegen_emulator
