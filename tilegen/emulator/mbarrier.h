// mbarriers, clusters, proxies and register reallocation of sm_90.
#pragma once
#include "matrix.h"

namespace tilegen_emulator {

void init_barrier(void* barrier, unsigned count, Place at);
void arrive_at_barrier(void* barrier, unsigned arrivals, long expected_bytes, Place at);
bool barrier_passed(void* barrier, unsigned parity, Place at);
void wait_for_barrier(void* barrier, unsigned parity, Place at);
bool try_barrier(void* barrier, unsigned parity, Place at); // gives up after a while
void fence_for_async_proxy(Place at);
void change_registers(int registers, bool more, Place at);
void* in_block_of_cluster(const void* pointer, unsigned rank, Place at);

// A barrier is named by a pointer to its 8 bytes of shared memory, or by their 32-bit address.
inline void* barrier_pointer(const void* pointer, Place) { return const_cast<void*>(pointer); }
inline void* barrier_pointer(uint32_t address, Place at) { return from_shared_address(address, 8, at); }

template <class B> inline void mbarrier_init(B barrier, unsigned count, TILEGEN_AT)
{ init_barrier(barrier_pointer(barrier, at), count, at); }
template <class B> inline void mbarrier_arrive(B barrier, TILEGEN_AT)
{ arrive_at_barrier(barrier_pointer(barrier, at), 1, 0, at); }
template <class B> inline void mbarrier_arrive_remote(B barrier, unsigned rank, TILEGEN_AT)
{ arrive_at_barrier(in_block_of_cluster(barrier_pointer(barrier, at), rank, at), 1, 0, at); }
// Arrives, and lets the phase wait for `bytes` more bytes of asynchronous copies.
template <class B> inline void mbarrier_arrive_expect(B barrier, unsigned bytes, TILEGEN_AT)
{ arrive_at_barrier(barrier_pointer(barrier, at), 1, long(bytes), at); }
template <class B> inline void mbarrier_expect(B barrier, unsigned bytes, TILEGEN_AT)
{ arrive_at_barrier(barrier_pointer(barrier, at), 0, long(bytes), at); }
template <class B> inline bool mbarrier_try_wait(B barrier, unsigned parity, TILEGEN_AT)
{ return try_barrier(barrier_pointer(barrier, at), parity, at); }
template <class B> inline void mbarrier_wait(B barrier, unsigned parity, TILEGEN_AT)
{ wait_for_barrier(barrier_pointer(barrier, at), parity, at); }

inline void fence_mbarrier_init() {}
inline void fence_async_proxy(TILEGEN_AT) { fence_for_async_proxy(at); }

inline unsigned cluster_rank() { return self().cluster_rank; }
inline unsigned cluster_size() { return self().cluster_size; }
inline void cluster_arrive(TILEGEN_AT) { cluster_barrier_arrive(at); }
inline void cluster_wait(TILEGEN_AT) { cluster_barrier_wait(at); }
inline void cluster_sync(TILEGEN_AT)
{
    cluster_barrier_arrive(at);
    cluster_barrier_wait(at);
}
// The same place in the shared memory of another block of the cluster.
template <class T> inline T* map_shared_rank(T* pointer, unsigned rank, TILEGEN_AT)
{ return static_cast<T*>(in_block_of_cluster(pointer, rank, at)); }

template <int REGISTERS> inline void setmaxnreg_dec(TILEGEN_AT) { change_registers(REGISTERS, false, at); }
template <int REGISTERS> inline void setmaxnreg_inc(TILEGEN_AT) { change_registers(REGISTERS, true, at); }
inline bool elect_one() { return self().lane == 0; }

} // namespace tilegen_emulator
