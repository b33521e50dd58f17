// What the emulated machine looks like from inside a kernel: the running thread, waiting, faults.
// The other side of these declarations is in runtime.cc, scheduler.cc and checker.cc.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Code that stands for hardware is not instrumented: it reports its own accesses.
#if defined(__clang__)
#define TILEGEN_PLAIN __attribute__((no_sanitize("thread", "undefined"), nodebug))
#else
#define TILEGEN_PLAIN __attribute__((no_sanitize("thread", "undefined")))
#endif

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

namespace tilegen_emulator {

// A place in the emitted text. As a default argument it names the line of the call.
struct Place {
    const char* file;
    int line;
    static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE())
    { return {file, line}; }
};

// The part of a thread that a kernel may look at.
struct Identity {
    uint3 thread_index, block_index;
    dim3 block_size, grid_size;
    unsigned linear, lane, warp_number, warp_size;
    unsigned cluster_rank, cluster_size;
};

// Constant within one thread of the kernel, so the compiler may call it once.
__attribute__((const)) const Identity& self();

// ---- Faults: none of these returns ---------------------------------------------------------------
[[noreturn]] void fault(Place at, const char* format, ...) __attribute__((format(printf, 2, 3)));
[[noreturn]] void assertion_failed(const char* expression, Place at = Place::here());
[[noreturn]] void trap(Place at = Place::here());

// ---- Meetings and waits --------------------------------------------------------------------------
// Lane requests lie on the stacks of the lanes. When the last lane of `mask` arrives it calls
// `perform` once, which reads and writes the requests of all lanes in the mask.
typedef void (*Perform)(void* const* requests, uint64_t mask);
void meet(uint64_t mask, void* request, Perform perform, const char* what, Place at);

void block_barrier(Place at, const char* what = "__syncthreads");
void block_barrier_vote(int value, int result[3], Place at); // result: count, and, or
void join_barrier(int id, int threads, bool wait, Place at);
void cluster_barrier_arrive(Place at);
void cluster_barrier_wait(Place at);
void warp_barrier(uint64_t mask, Place at);
void yield(Place at);
// What a thread waits for, by functions of one argument: `ready` says whether it is there; `describe`, which
// may be null, writes for a report of a deadlock what is still missing.
struct Awaited {
    bool (*ready)(void*);
    void (*describe)(void*, char* buffer, size_t size);
};
// Parks the thread until it is there.
void wait_until(Awaited awaited, void* argument, const char* what, Place at);
// The same, but it may return before; then the caller is expected to try again.
void wait_a_while(Awaited awaited, void* argument, const char* what, Place at);

uint64_t shuffle(uint64_t mask, uint64_t value, unsigned source_lane, Place at);
uint64_t vote(uint64_t mask, bool value, Place at); // the lanes whose value is true
uint64_t match_any(uint64_t mask, uint64_t value, Place at);
uint64_t active_lanes();

// ---- Memory --------------------------------------------------------------------------------------
// Shared memory has 32-bit addresses from 0; one block of a cluster sees the others at rank << 24.
uint32_t to_shared_address(const void* pointer, Place at);
void* from_shared_address(uint32_t address, size_t bytes, Place at);
bool is_shared(const void* pointer);
// Reports what an emulated instruction touches. Faults where the access is not allowed.
void touch_read(const void* pointer, size_t bytes, size_t alignment, const char* what, Place at);
void touch_write(void* pointer, size_t bytes, size_t alignment, const char* what, Place at);
void touch_atomic(void* pointer, size_t bytes, Place at);

inline uint64_t all_lanes() { return self().warp_size == 64 ? ~uint64_t(0) : 0xffffffffu; }

} // namespace tilegen_emulator
