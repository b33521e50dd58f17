// cp.async: copies from global to shared memory that take effect when they are waited for.
#pragma once
#include "collectives.h"

namespace tilegen_emulator {

// Queues a copy of `bytes` bytes, of which the first `filled` come from `source` and the rest are zero.
// The destination is poisoned until the wait that completes the copy.
void queue_copy(void* destination, const void* source, size_t bytes, size_t filled, Place at);
void commit_copies(Place at);
void wait_for_copies(int groups_pending, Place at);

inline void* copy_target(void* pointer, Place) { return pointer; }
inline void* copy_target(uint32_t address, Place at) { return from_shared_address(address, 1, at); }

#define TILEGEN_CP_ASYNC(BYTES)                                                                              \
    template <class Target>                                                                                  \
    inline void cp_async_##BYTES(Target target, const void* source, bool inside = true, TILEGEN_AT)          \
    { queue_copy(copy_target(target, at), source, BYTES, inside ? BYTES : 0, at); }
TILEGEN_CP_ASYNC(4)
TILEGEN_CP_ASYNC(8)
TILEGEN_CP_ASYNC(16)
#undef TILEGEN_CP_ASYNC

template <int BYTES> inline void cp_async(void* target, const void* source, TILEGEN_AT)
{ queue_copy(target, source, BYTES, BYTES, at); }
template <int BYTES> inline void cp_async_or_zeros(void* target, const void* source, bool exists, TILEGEN_AT)
{ queue_copy(target, source, BYTES, exists ? BYTES : 0, at); }

inline void cp_async_commit(TILEGEN_AT) { commit_copies(at); }
template <int PENDING> inline void cp_async_wait(TILEGEN_AT) { wait_for_copies(PENDING, at); }
inline void cp_async_wait_all(TILEGEN_AT)
{
    commit_copies(at);
    wait_for_copies(0, at);
}

} // namespace tilegen_emulator
