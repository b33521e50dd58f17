// Runs the threads of the blocks that are resident together, one at a time, until all are done.
#include "scheduler.h"

#include <stdarg.h>
#include <sys/mman.h>

namespace tilegen_emulator {

// A process has 1024 keys for all of its libraries, and may load more kernels than that: a library has a key only
// while it runs launches.
static pthread_mutex_t key_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t worker_key;
static int key_users = 0;

bool take_worker_key()
{
    const Locked locked(key_lock);
    if (!key_users && pthread_key_create(&worker_key, nullptr)) return false;
    ++key_users;
    return true;
}

void drop_worker_key()
{
    const Locked locked(key_lock);
    if (!--key_users) pthread_key_delete(worker_key);
}

Worker* current_worker() { return key_users ? static_cast<Worker*>(pthread_getspecific(worker_key)) : nullptr; }

void set_current_worker(Worker* value) { pthread_setspecific(worker_key, value); }

const Identity& self() { return worker->running->identity; }

// ---- Faults --------------------------------------------------------------------------------------
void record_fault(const Thread* thread, Place at, const char* message)
{
    Launch& launch = *worker->launch;
    if (launch.failed.exchange(true)) return; // the first one is reported
    Report& report = *launch.report;
    report.failed = 1;
    snprintf(report.message, sizeof report.message, "%s", message);
    snprintf(report.file, sizeof report.file, "%s", at.file ? at.file : "");
    report.line = at.line;
    report.has_thread = thread != nullptr;
    if (!thread) return;
    const uint3 block = thread->identity.block_index, index = thread->identity.thread_index;
    report.block[0] = block.x, report.block[1] = block.y, report.block[2] = block.z;
    report.thread[0] = index.x, report.thread[1] = index.y, report.thread[2] = index.z;
    record_calls(*thread, report);
}

void give_up()
{
    Thread* thread = worker->running;
    thread->state = State::done;
    switch_context(&thread->saved, worker->scheduler);
    abort();
}

void fault(Place at, const char* format, ...)
{
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    record_fault(worker->running, at, message);
    give_up();
    abort();
}

void assertion_failed(const char* expression, Place at) { fault(at, "assertion failed: %s", expression); }
void trap(Place at) { fault(at, "__trap()"); }

// ---- Threads -------------------------------------------------------------------------------------
void park(State state, const char* what, Place at)
{
    Worker& own = *worker;
    Thread* thread = own.running;
    thread->state = state;
    thread->what = what;
    thread->at = at;
    switch_context(&thread->saved, own.scheduler);
}

void yield(Place at) { park(State::yielded, "a spin loop", at); }

static void wait(Awaited awaited, void* argument, bool idle, const char* what, Place at)
{
    Thread* thread = worker->running;
    thread->awaited = awaited;
    thread->argument = argument;
    thread->idle = idle;
    park(State::polling, what, at);
}

void wait_until(Awaited awaited, void* argument, const char* what, Place at)
{
    if (!awaited.ready(argument)) wait(awaited, argument, false, what, at);
}

void wait_a_while(Awaited awaited, void* argument, const char* what, Place at)
{ wait(awaited, argument, true, what, at); }

static void leave(Thread& thread)
{
    Block& block = *thread.block;
    finish_copies(thread);
    finish_stores(thread);
    finish_products(thread);
    finish_tensor_moves(thread);
    thread.warp->exited |= uint64_t(1) << thread.identity.lane;
    ++block.finished;
    if (block.waiting)
        fault(block.barrier, "barrier divergence: thread %u has left the kernel, %u of %u threads wait at %s",
              thread.identity.linear, block.waiting, block.count, block.barrier_name);
    finish_meetings(*thread.warp, block);
    if (block.finished == block.count) finish_tensor_memory(block);
}

static void thread_main()
{
    Thread& thread = *worker->running;
    worker->launch->request->call(worker->launch->arguments.data());
    leave(thread);
    give_up();
}

static char* map_memory(size_t bytes)
{
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "tilegen emulator: out of memory\n");
        abort();
    }
    return static_cast<char*>(memory);
}

static void start_thread(Block& block, unsigned linear, size_t number)
{
    const Request& request = *worker->launch->request;
    Thread& thread = block.threads[linear];
    thread = Thread();
    Identity& identity = thread.identity;
    identity.block_size = dim3(request.block[0], request.block[1], request.block[2]);
    identity.grid_size = dim3(request.grid[0], request.grid[1], request.grid[2]);
    identity.thread_index = {linear % request.block[0], linear / request.block[0] % request.block[1],
                             linear / (request.block[0] * request.block[1])};
    identity.block_index = block.index;
    identity.linear = linear;
    identity.warp_size = unsigned(request.warp_size);
    identity.lane = linear % identity.warp_size;
    identity.warp_number = linear / identity.warp_size;
    identity.cluster_rank = block.rank;
    identity.cluster_size = unsigned(block.group->blocks.size());
    thread.block = &block;
    thread.warp = &block.warps[identity.warp_number];
    thread.warp->members |= uint64_t(1) << identity.lane;
    if (worker->stacks.size() <= number) {
        char* stack = map_memory(stack_bytes);
        mprotect(stack, 4096, PROT_NONE);
        worker->stacks.push_back(stack);
    }
    // Staggered tops, so that the stacks do not all fall in the same cache sets.
    thread.stack = worker->stacks[number];
    thread.saved = new_context(thread.stack + stack_bytes - number * 1088 % 16384, thread_main);
}

static void start_block(Block& block, size_t first_stack)
{
    const Request& request = *worker->launch->request;
    block.count = request.block[0] * request.block[1] * request.block[2];
    block.finished = block.waiting = 0;
    block.votes[0] = block.votes[2] = 0, block.votes[1] = 1;
    for (NamedBarrier& barrier : block.named) {
        forget(barrier.clock);
        barrier = NamedBarrier();
    }
    forget_barriers(block);
    forget_tensor_memory(block);
    block.free_registers = 65536 - long(block.count) * (65536 / block.count / 8 * 8);
    block.threads.resize(block.count);
    block.warps.assign((block.count + unsigned(request.warp_size) - 1) / unsigned(request.warp_size), Warp());
    while (worker->arenas.size() <= block.rank) worker->arenas.push_back(map_memory(arena_bytes));
    block.arena = worker->arenas[block.rank];
    start_shared_memory(block);
    for (unsigned i = 0; i < block.count; ++i) start_thread(block, i, first_stack + i);
}

// ---- Order ---------------------------------------------------------------------------------------
static uint64_t next_random()
{
    uint64_t x = worker->random += 0x9e3779b97f4a7c15ull; // splitmix64
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static void arrange(std::vector<unsigned>& order, size_t count)
{
    const Order wanted = Order(worker->launch->request->order);
    if (order.size() == count && wanted != Order::random) return;
    order.resize(count);
    for (size_t i = 0; i < count; ++i) order[i] = unsigned(wanted == Order::reverse ? count - 1 - i : i);
    if (wanted != Order::random) return;
    for (size_t i = count; i > 1; --i) {
        const size_t j = next_random() % i;
        const unsigned kept = order[i - 1];
        order[i - 1] = order[j], order[j] = kept;
    }
}

static bool run_thread(Thread& thread)
{
    Worker& own = *worker;
    own.running = &thread;
    ++own.switches;
    switch_context(&own.scheduler, thread.saved);
    own.running = nullptr;
    return !own.launch->failed.load(std::memory_order_relaxed);
}

// Runs a warp until each of its lanes waits for something outside of it. False: a fault.
static bool run_warp(Block& block, unsigned warp, bool& progress)
{
    const unsigned size = unsigned(worker->launch->request->warp_size);
    for (bool again = true; again;) {
        again = false;
        for (unsigned lane : worker->lane_order) {
            const unsigned linear = warp * size + lane;
            if (linear >= block.count) continue;
            Thread& thread = block.threads[linear];
            if (thread.state == State::polling && thread.awaited.ready(thread.argument))
                thread.state = State::ready, thread.idle = false;
            if (thread.state != State::ready) continue;
            const bool retries = thread.idle;
            thread.idle = false;
            if (!run_thread(thread)) return false;
            again = true;
            if (!retries || !thread.idle) progress = true;
        }
    }
    return true;
}

// ---- The blocks that are resident together ---------------------------------------------------------
// Lets those threads try again that only wait for a while. False: there is none, or they have tried in vain
// for long enough.
static bool try_again(Group& group, double& idle_since)
{
    if (idle_since == 0) idle_since = now();
    if (now() - idle_since > longest_idle_seconds) return false;
    bool tried = false;
    for (Block& block : group.blocks)
        for (Thread& thread : block.threads)
            if (thread.state == State::polling && thread.idle) thread.state = State::ready, tried = true;
    return tried;
}

bool run_group(Group& group)
{
    size_t stack = 0;
    unsigned total = 0;
    for (Block& block : group.blocks) {
        start_block(block, stack);
        stack += block.count;
        total += block.count;
    }
    group.checker = nullptr;
    if (worker->launch->request->check) start_checker(group);
    const size_t warps = group.blocks[0].warps.size();
    double idle_since = 0;
    for (;;) {
        bool progress = false;
        arrange(worker->warp_order, warps * group.blocks.size());
        arrange(worker->lane_order, size_t(worker->launch->request->warp_size));
        for (unsigned number : worker->warp_order)
            if (!run_warp(group.blocks[number / warps], unsigned(number % warps), progress)) return false;
        unsigned done = 0;
        for (Block& block : group.blocks) {
            done += block.finished;
            for (Thread& thread : block.threads)
                if (thread.state == State::yielded) thread.state = State::ready, progress = true;
        }
        if (done == total) break;
        if (progress) idle_since = 0;
        else if (!try_again(group, idle_since)) {
            report_deadlock(group);
            return false;
        }
        if (worker->launch->failed.load(std::memory_order_relaxed)) return false;
    }
    for (Block& block : group.blocks) end_shared_memory(block);
    if (group.checker) end_checker(group);
    return true;
}

} // namespace tilegen_emulator
