// Tensor memory of sm_100: 512 columns of 128 lanes of 32 bits for the blocks of an SM, products into it that run until
// an mbarrier says that they are complete, and the ways between it and registers.
#pragma once
#include "warpgroup.h"

namespace tilegen_emulator {

void allocate_columns(unsigned* place, unsigned columns, Place at);
void free_columns(unsigned address, unsigned columns, Place at);
void relinquish_allocation(Place at);
// What a function of the emitted file is for: the `kind` of tcgen05.mma that its instruction descriptor belongs to.
enum class ProductKind { f16, tf32, f8f6f4, i8 };
void issue_tensor_product(ProductKind kind, unsigned sums, uint64_t a, uint64_t b, unsigned instruction,
                          bool accumulate, Place at);
// `mask`: the blocks of the cluster whose mbarrier gets the arrival, 0 for the own block alone.
void commit_tensor_products(void* barrier, unsigned mask, Place at);
void load_tensor(uint32_t* registers, int count, unsigned address, Place at);
void store_tensor(const uint32_t* registers, int count, unsigned address, Place at);
void wait_for_tensor(bool loads, Place at);
void fence_tensor(bool after, Place at);

template <int COLUMNS> inline void tcgen05_alloc(unsigned* place, TILEGEN_AT)
{ allocate_columns(place, COLUMNS, at); }
template <int COLUMNS> inline void tcgen05_dealloc(unsigned address, TILEGEN_AT)
{ free_columns(address, COLUMNS, at); }
inline void tcgen05_relinquish(TILEGEN_AT) { relinquish_allocation(at); }

#define TILEGEN_TENSOR_PRODUCT(KIND)                                                                         \
    inline void tcgen05_mma_##KIND(unsigned sums, uint64_t a, uint64_t b, unsigned instruction, int add,     \
                                   TILEGEN_AT)                                                               \
    {                                                                                                        \
        issue_tensor_product(ProductKind::KIND, sums, a, b, instruction, add != 0, at);                      \
    }
TILEGEN_TENSOR_PRODUCT(f16)
TILEGEN_TENSOR_PRODUCT(tf32)
TILEGEN_TENSOR_PRODUCT(f8f6f4)
TILEGEN_TENSOR_PRODUCT(i8)
#undef TILEGEN_TENSOR_PRODUCT

template <class B> inline void tcgen05_commit(B barrier, TILEGEN_AT)
{ commit_tensor_products(barrier_pointer(barrier, at), 0, at); }
template <class B> inline void tcgen05_commit_multicast(B barrier, unsigned mask, TILEGEN_AT)
{ commit_tensor_products(barrier_pointer(barrier, at), mask, at); }

// A lane's row: COUNT columns of the lane of tensor memory that belongs to it (32x32b).
template <int COUNT, class T> inline void tcgen05_load(T* registers, unsigned address, TILEGEN_AT)
{ load_tensor(reinterpret_cast<uint32_t*>(registers), COUNT, address, at); }
template <int COUNT, class T> inline void tcgen05_store(const T* registers, unsigned address, TILEGEN_AT)
{ store_tensor(reinterpret_cast<const uint32_t*>(registers), COUNT, address, at); }
#define TILEGEN_TENSOR_MOVES(COUNT)                                                                          \
    template <class T> inline void tcgen05_load_x##COUNT(T* registers, unsigned address, TILEGEN_AT)         \
    { tcgen05_load<COUNT>(registers, address, at); }                                                         \
    template <class T> inline void tcgen05_store_x##COUNT(const T* registers, unsigned address, TILEGEN_AT)  \
    { tcgen05_store<COUNT>(registers, address, at); }
TILEGEN_TENSOR_MOVES(1)
TILEGEN_TENSOR_MOVES(2)
TILEGEN_TENSOR_MOVES(4)
TILEGEN_TENSOR_MOVES(8)
TILEGEN_TENSOR_MOVES(16)
TILEGEN_TENSOR_MOVES(32)
TILEGEN_TENSOR_MOVES(64)
TILEGEN_TENSOR_MOVES(128)
#undef TILEGEN_TENSOR_MOVES
// In the emitted file the registers are named, so that the compiler uses them after the wait.
template <int COUNT, class T> inline void tcgen05_wait_load(T*, TILEGEN_AT) { wait_for_tensor(true, at); }
inline void tcgen05_wait_load(TILEGEN_AT) { wait_for_tensor(true, at); }
inline void tcgen05_wait_store(TILEGEN_AT) { wait_for_tensor(false, at); }
inline void tcgen05_fence_before(TILEGEN_AT) { fence_tensor(false, at); }
inline void tcgen05_fence_after(TILEGEN_AT) { fence_tensor(true, at); }

} // namespace tilegen_emulator
