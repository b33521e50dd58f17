// The runtime's own view of a launch: threads as fibres, warps, blocks, clusters, and what one
// operating-system thread (a worker) keeps. Kernels never see this file.
#pragma once
#include <pthread.h>

#include <atomic>
#include <vector>

#include "machine.h"

namespace tilegen_emulator {

enum class State : uint8_t { ready, yielded, at_barrier, at_warp, polling, done };
enum class Order { forward, reverse, random };

constexpr unsigned shared_start = 1024; // the first address of shared memory
constexpr size_t arena_bytes = 1 << 20; // one block's shared memory with its guard zones
constexpr size_t guard_bytes = 256;
constexpr size_t dynamic_bytes = 256 << 10; // room kept for an `extern __shared__` array (driver.py)
constexpr size_t stack_bytes = 256 << 10;
constexpr size_t signal_stack_bytes = 64 << 10;
constexpr int named_barriers = 16;
constexpr double longest_idle_seconds = 0.5; // of threads that try in vain, while nothing else happens

struct Block;
struct Group;
struct Launch;
struct Worker;
struct Clock;        // checker.h
struct CopyQueue;    // async_copy.cc
struct StoreQueue;   // tensor_copy.cc
struct ProductQueue; // warpgroup.cc
struct TensorMemory; // tensor_state.h
struct TensorMoves;
struct Barrier;      // transactions.h
struct Checker;

struct Warp {
    uint64_t members = 0, exited = 0, arrived = 0;
};

struct Thread {
    Identity identity;
    Block* block = nullptr;
    Warp* warp = nullptr;
    State state = State::ready;
    char* stack = nullptr; // its lowest address; stack_bytes long
    void* saved = nullptr; // where it was left (see context.cc)
    uint64_t mask = 0;     // a meeting: who takes part
    void* request = nullptr;
    Perform perform = nullptr;
    const char* what = ""; // what it waits for, and where
    Place at = {nullptr, 0};
    Awaited awaited = {nullptr, nullptr};
    void* argument = nullptr;
    bool idle = false; // it waits, but would also be content to try again
    unsigned spins = 0, cluster_phase = 0;
    CopyQueue* copies = nullptr; // asynchronous work that it has not waited for
    StoreQueue* stores = nullptr;
    ProductQueue* products = nullptr;
    TensorMoves* moves = nullptr;
    int registers = 0;     // after setmaxnreg; 0: as launched
    uint32_t fenced = 0;   // checker: its time at the last fence for the async proxy
    uint32_t time = 1;     // checker: its own clock (see clocks.cc)
    Clock* seen = nullptr; // checker: what it has seen of the others
    uint32_t tensor_fenced = 0;     // checker: its time at the last tcgen05.fence::before_thread_sync,
    Clock* fenced_seen = nullptr;   // and what it had seen at the last ::after_thread_sync
};

struct NamedBarrier {
    int expected = 0, arrived = 0;
    unsigned phase = 0;
    Place first = {nullptr, 0};
    Clock* clock = nullptr; // checker: what those who wait will have seen
};

struct SharedVariable {
    char* start;
    size_t bytes;
};

struct Block {
    Group* group = nullptr;
    uint3 index = {0, 0, 0};
    unsigned rank = 0, count = 0, finished = 0, waiting = 0;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    Place barrier = {nullptr, 0};
    const char* barrier_name = "";
    int votes[3] = {0, 1, 0}, outcome[3] = {0, 1, 0};
    NamedBarrier named[named_barriers];
    std::vector<Barrier*> barriers; // the mbarriers in its shared memory
    long free_registers = 0;
    TensorMemory* tensor = nullptr; // since its first tcgen05.alloc
    char* arena = nullptr;
    char* dynamic = nullptr;               // where its `extern __shared__` array starts
    size_t used = 0;                       // bytes of the arena given to variables
    std::vector<SharedVariable> variables; // by the variable's number (emulated TLS)
};

// The blocks that are resident together: a cluster.
struct Group {
    Launch* launch = nullptr;
    std::vector<Block> blocks;
    unsigned cluster_arrived = 0, cluster_phase = 0;
    Clock* clock = nullptr;     // checker: what the cluster barrier passes on
    Checker* checker = nullptr; // null: nothing is checked
};

// ---- What the launcher passes in and gets back (ctypes: tilegen/runtime/emulator.py) -------------
struct Argument {
    void* data;
    uint64_t bytes;
    int kind; // 0 value, 1 array, 2 array that is only read, 3 tensor map, 4 texture
};

constexpr int callers_kept = 4;

// How an access to shared memory falls on the banks, over the whole launch.
struct ConflictRow {
    uint64_t address, instructions, steps, needed; // of a warp; steps without any conflict, and with
    uint64_t callers[callers_kept];
    uint32_t worst, bytes;
    int write, line;
    char file[256];
};

struct Request {
    void (*call)(void** arguments);
    void* (*dynamic)(); // the address of its `extern __shared__` array, if it has one
    const Argument* arguments;
    int argument_count;
    unsigned grid[3], block[3], cluster[3];
    uint64_t shared_bytes;
    int warp_size, order, os_threads, check;
    uint64_t seed;
    double timeout;
    ConflictRow* conflicts;
    int conflict_room;
    int watched; // checker: an argument, of which the last writer of a byte is wanted; -1: none
    uint64_t watched_byte;
};

constexpr int calls_kept = 24;

struct Report {
    int failed, line, other_line, has_thread;
    char message[2048], file[1024], other_file[1024];
    unsigned block[3], thread[3];
    uint64_t address, other_address; // code addresses, relative to the library; 0: none
    uint64_t other_callers[callers_kept];
    uint64_t blocks, switches, meetings, barriers, shared_bytes;
    double seconds;
    int conflict_count;
    uint64_t calls[calls_kept]; // from the fault or the writer outwards: addresses relative to the library
    int call_count;
    int writer_known, writer_line; // who last wrote the byte that was watched
    unsigned writer_block[3], writer_thread[3];
    uint64_t writer_address;
};

struct GuardedArray {
    char *data, *mapping;
    size_t bytes, mapped;
    void* original;
    bool writable;
};

struct Launch {
    const Request* request = nullptr;
    Report* report = nullptr;
    std::vector<GuardedArray> arrays;
    std::vector<void*> pointers;  // the values of array arguments
    std::vector<void*> arguments; // what the entry is called with
    std::vector<void*> maps;
    std::atomic<uint64_t> next_group{0}, switches{0}, meetings{0}, barriers{0}, shared_bytes{0};
    std::atomic<bool> failed{false};
};

struct Worker {
    Launch* launch = nullptr;
    Thread* running = nullptr;
    void* scheduler = nullptr; // the scheduler's own context while a thread runs
    std::vector<char*> stacks, arenas;
    char* signal_stack = nullptr;
    Worker* next_spare = nullptr; // launch.cc
    Checker* checker = nullptr;
    std::vector<unsigned> warp_order, lane_order;
    uint64_t random = 1;
    uint64_t switches = 0, meetings = 0, barriers = 0;
};

struct Locked {
    pthread_mutex_t& mutex;
    explicit Locked(pthread_mutex_t& mutex) : mutex(mutex) { pthread_mutex_lock(&mutex); }
    ~Locked() { pthread_mutex_unlock(&mutex); }
    Locked(const Locked&) = delete;
};

// The worker of the calling OS thread, between take_worker_key, which fails where the process has no more keys, and
// drop_worker_key. Not a thread_local: those are the kernels' shared memory.
bool take_worker_key();
void drop_worker_key();
Worker* current_worker();
void set_current_worker(Worker* value);
#define worker (::tilegen_emulator::current_worker())

// context.cc
void switch_context(void** save, void* load);
void* new_context(void* stack_top, void (*entry)());
void** saved_frame(void* saved);
// deadlock.cc
void report_deadlock(Group& group);
// calls.cc
void record_calls(const Thread& thread, Report& report);
// scheduler.cc
bool run_group(Group& group); // false: a fault was found
void park(State state, const char* what, Place at);
void give_up(); // back to the scheduler, never to return
void record_fault(const Thread* thread, Place at, const char* message);
void finish_meetings(Warp& warp, Block& block);
// shared_memory.cc
void start_shared_memory(Block& block);
void end_shared_memory(Block& block);
bool is_allocated(const Block& block, const char* pointer, size_t bytes);
const char* describe_shared(const Block& block, const char* pointer, char* buffer, size_t size);
// arrays.cc
void guard_arrays(Launch& launch);
void release_arrays(Launch& launch);
void describe_address(const Launch& launch, const Thread* thread, const void* p, char* buffer, size_t size);
// async_copy.cc, tensor_copy.cc, warpgroup.cc: what a thread leaves behind when it ends
void finish_copies(Thread& thread);
void finish_stores(Thread& thread);
void finish_products(Thread& thread);
// tensor_memory.cc
void finish_tensor_moves(Thread& thread);
void finish_tensor_memory(Block& block);
void forget_tensor_memory(Block& block);
// mbarrier.cc
void forget_barriers(Block& block);
// matrix.cc
void whole_warp(const char* what, int lanes, Place at);
// global_memory.cc
void start_checker(Group& group);
void end_checker(Group& group);
void delete_checker();
// checker.cc
void check_atomic(void* pointer, size_t bytes, Place at);
void begin_async_write(void* pointer, size_t bytes, Place at); // from here nobody may touch it,
void end_async_write(void* pointer, size_t bytes);             // to here, when a thread has waited
void begin_async_read(const void* pointer, size_t bytes, const char* what, Place at);
void end_async_read(const void* pointer, size_t bytes);
void check_async_read(const void* pointer, size_t bytes, const char* what, Place at);
// clocks.cc
void order_threads(Block& block, Thread* const* threads, size_t count);
void publish(Thread& thread, Clock*& into);
void observe(Thread& thread, const Clock* from);
void forget(Clock*& clock);
void pass_on(const Thread& thread, Clock*& into, Clock*& from); // `from` is gone then
void keep_seen(Thread& thread);
bool has_seen(const Thread& thread, unsigned other, uint32_t time);
bool had_seen(const Thread& thread, unsigned other, uint32_t time); // at its last keep_seen
unsigned number_in_group(const Thread& thread);
// launch.cc
uint64_t library_offset(uintptr_t address);
double now(); // seconds

} // namespace tilegen_emulator
