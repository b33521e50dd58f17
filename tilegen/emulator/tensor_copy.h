// The tensor memory accelerator: copies of boxes between global tensors and shared memory.
#pragma once
#include "mbarrier.h"

namespace tilegen_emulator {

// `mask`: the blocks of the cluster that receive the box, 0 for the own block alone.
void issue_load(void* shared, const void* map, void* barrier, const int* coordinates, int rank, unsigned mask,
                Place at);
void issue_store(const void* map, const void* shared, const int* coordinates, int rank, Place at);
void commit_stores(Place at);
void wait_for_stores(int groups_pending, Place at);

inline void* box_pointer(const void* pointer, Place) { return const_cast<void*>(pointer); }
inline void* box_pointer(uint32_t address, Place at) { return from_shared_address(address, 16, at); }

#define TILEGEN_TMA(RANK, PARAMETERS, COORDINATES)                                                           \
    template <class S, class B>                                                                              \
    inline void tma_load_##RANK##d(S shared, const void* map, B barrier, PARAMETERS, TILEGEN_AT)             \
    {                                                                                                        \
        const int coordinates[] = {COORDINATES};                                                             \
        issue_load(box_pointer(shared, at), map, barrier_pointer(barrier, at), coordinates, RANK, 0, at);    \
    }                                                                                                        \
    template <class S, class B>                                                                              \
    inline void tma_load_##RANK##d_multicast(S shared, const void* map, B barrier, PARAMETERS,               \
                                             unsigned mask, TILEGEN_AT)                                      \
    {                                                                                                        \
        const int coordinates[] = {COORDINATES};                                                             \
        issue_load(box_pointer(shared, at), map, barrier_pointer(barrier, at), coordinates, RANK, mask, at); \
    }                                                                                                        \
    template <class S, class B>                                                                              \
    inline void tma_load_##RANK##d_hinted(S shared, const void* map, B barrier, PARAMETERS,                  \
                                          unsigned long long, TILEGEN_AT)                                    \
    {                                                                                                        \
        tma_load_##RANK##d(shared, map, barrier, COORDINATES, at);                                           \
    }                                                                                                        \
    template <class S, class B>                                                                              \
    inline void tma_load_##RANK##d_multicast_hinted(S shared, const void* map, B barrier, PARAMETERS,        \
                                                    unsigned mask, unsigned long long, TILEGEN_AT)           \
    {                                                                                                        \
        tma_load_##RANK##d_multicast(shared, map, barrier, COORDINATES, mask, at);                           \
    }                                                                                                        \
    template <class S> inline void tma_store_##RANK##d(const void* map, S shared, PARAMETERS, TILEGEN_AT)    \
    {                                                                                                        \
        const int coordinates[] = {COORDINATES};                                                             \
        issue_store(map, box_pointer(shared, at), coordinates, RANK, at);                                    \
    }
#define TILEGEN_COMMA ,
TILEGEN_TMA(1, int x, x)
TILEGEN_TMA(2, int x TILEGEN_COMMA int y, x TILEGEN_COMMA y)
TILEGEN_TMA(3, int x TILEGEN_COMMA int y TILEGEN_COMMA int z, x TILEGEN_COMMA y TILEGEN_COMMA z)
TILEGEN_TMA(4, int x TILEGEN_COMMA int y TILEGEN_COMMA int z TILEGEN_COMMA int w,
            x TILEGEN_COMMA y TILEGEN_COMMA z TILEGEN_COMMA w)
#undef TILEGEN_TMA

inline void tma_store_commit(TILEGEN_AT) { commit_stores(at); }
template <int PENDING> inline void tma_store_wait_read(TILEGEN_AT) { wait_for_stores(PENDING, at); }
template <int PENDING> inline void tma_store_wait(TILEGEN_AT) { wait_for_stores(PENDING, at); }
inline void tma_prefetch_map(const void*) {}
inline unsigned long long l2_evict_first() { return 0; }
inline unsigned long long l2_evict_last() { return 0; }

} // namespace tilegen_emulator
