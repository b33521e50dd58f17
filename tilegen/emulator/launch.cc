// The entry of the runtime: spreads the blocks of a launch over workers, and turns signals into faults.
#include "scheduler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

namespace tilegen_emulator {

constexpr int watchdog_signal = SIGURG; // ignored by default

// ---- Workers are kept, with their stacks, from launch to launch -----------------------------------
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static Worker* spare_workers = nullptr;

static Worker* take_worker()
{
    const Locked locked(spare_lock);
    if (!spare_workers) return new Worker;
    Worker* taken = spare_workers;
    spare_workers = taken->next_spare;
    return taken;
}

static void keep_worker(Worker* kept)
{
    const Locked locked(spare_lock);
    kept->next_spare = spare_workers;
    spare_workers = kept;
}

// Gives back the memory of the workers: a process may have loaded many kernels.
extern "C" __attribute__((visibility("default"))) void tilegen_emulator_release()
{
    const Locked locked(spare_lock);
    while (Worker* spare = spare_workers) {
        spare_workers = spare->next_spare;
        for (char* stack : spare->stacks) munmap(stack, stack_bytes);
        for (char* arena : spare->arenas) munmap(arena, arena_bytes);
        free(spare->signal_stack);
        delete spare;
    }
}

// ---- Signals -------------------------------------------------------------------------------------
static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static int signal_users = 0;
#if !defined(SI_KERNEL)
#define SI_KERNEL 0x80 // Linux on x86: no address, as for a misaligned vector
#endif

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, watchdog_signal};
static struct sigaction before[5];

static uintptr_t program_counter(const ucontext_t& context)
{
#if defined(__x86_64__) && defined(__linux__)
    return uintptr_t(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__) && defined(__linux__)
    return uintptr_t(context.uc_mcontext.pc);
#else
    return 0;
#endif
}

uint64_t library_offset(uintptr_t address)
{
    Dl_info info;
    if (!address || !dladdr(reinterpret_cast<void*>(address), &info)) return 0;
    return address - uintptr_t(info.dli_fbase);
}

static void fault_at_address(uintptr_t address, const char* message)
{
    const bool first = !worker->launch->failed.load();
    record_fault(worker->running, {nullptr, 0}, message);
    if (first) worker->launch->report->address = library_offset(address);
    give_up();
}

static void on_signal(int signal, siginfo_t* info, void* context)
{
    if (!worker || !worker->running) {
        if (signal == watchdog_signal) return;
        for (int i = 0; i < 5; ++i)
            if (caught[i] == signal) sigaction(signal, &before[i], nullptr);
        return; // the fault happens again, for whoever was there before
    }
    char message[400], where[200];
    if (signal == SIGSEGV && info->si_code == SI_KERNEL) {
        snprintf(message, sizeof message,
                 "misaligned access: a vector at an address that is not a multiple of its size");
    } else if (signal == SIGSEGV || signal == SIGBUS) {
        describe_address(*worker->launch, worker->running, info->si_addr, where, sizeof where);
        snprintf(message, sizeof message, "out-of-bounds access: %s", where);
    } else if (signal == watchdog_signal) {
        snprintf(message, sizeof message, "no end in sight: still running after %.0f s",
                 worker->launch->request->timeout);
    } else {
        snprintf(message, sizeof message, "%s",
                 signal == SIGFPE ? "division by zero" : "an illegal instruction");
    }
    fault_at_address(program_counter(*static_cast<ucontext_t*>(context)), message);
}

static void catch_signals()
{
    const Locked locked(signal_lock);
    if (signal_users++) return;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < 5; ++i) sigaction(caught[i], &action, &before[i]);
}

static void release_signals()
{
    const Locked locked(signal_lock);
    if (--signal_users) return;
    for (int i = 0; i < 5; ++i) sigaction(caught[i], &before[i], nullptr);
}

// ---- The work of one worker ----------------------------------------------------------------------
static uint64_t mix(uint64_t seed, uint64_t number)
{ return (seed + 1) * 0x9e3779b97f4a7c15ull ^ number * 0xd6e8feb86659fd93ull; }

static void place_blocks(Group& group, uint64_t number, const Request& request)
{
    const unsigned *cluster = request.cluster, across = request.grid[0] / cluster[0],
                   down = request.grid[1] / cluster[1];
    const unsigned x = unsigned(number % across), y = unsigned(number / across % down),
                   z = unsigned(number / across / down);
    for (Block& block : group.blocks) {
        const unsigned rank = unsigned(&block - group.blocks.data());
        block.group = &group;
        block.rank = rank;
        block.index = {x * cluster[0] + rank % cluster[0], y * cluster[1] + rank / cluster[0] % cluster[1],
                       z * cluster[2] + rank / cluster[0] / cluster[1]};
    }
}

static void work(Launch& launch)
{
    set_current_worker(take_worker());
    if (!worker->signal_stack) worker->signal_stack = static_cast<char*>(malloc(signal_stack_bytes));
    stack_t alternate = {}, previous = {};
    alternate.ss_sp = worker->signal_stack;
    alternate.ss_size = signal_stack_bytes;
    sigaltstack(&alternate, &previous);
    worker->launch = &launch;
    worker->switches = worker->meetings = worker->barriers = 0;
    worker->warp_order.clear();
    worker->lane_order.clear();

    const Request& request = *launch.request;
    const uint64_t size = uint64_t(request.cluster[0]) * request.cluster[1] * request.cluster[2];
    const uint64_t groups = uint64_t(request.grid[0]) * request.grid[1] * request.grid[2] / size;
    Group group;
    group.launch = &launch;
    group.blocks.resize(size);
    for (uint64_t i; (i = launch.next_group++) < groups;) {
        const uint64_t number = Order(request.order) == Order::reverse ? groups - 1 - i : i;
        worker->random = mix(request.seed, number);
        place_blocks(group, number, request);
        group.cluster_arrived = group.cluster_phase = 0;
        forget(group.clock);
        if (!run_group(group)) break;
    }
    launch.switches += worker->switches;
    launch.meetings += worker->meetings;
    launch.barriers += worker->barriers;
    worker->running = nullptr;
    delete_checker();
    keep_worker(worker);
    set_current_worker(nullptr);
    sigaltstack(&previous, nullptr);
}

// ---- The launch ----------------------------------------------------------------------------------
struct Watch {
    Launch* launch;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
    int working;
};

static void* worker_main(void* argument)
{
    Watch& watch = *static_cast<Watch*>(argument);
    work(*watch.launch);
    const Locked locked(watch.lock);
    --watch.working;
    pthread_cond_broadcast(&watch.ended);
    return nullptr;
}

static timespec seconds_from_now(double seconds)
{
    timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    const double whole = double(time.tv_sec) + seconds + 1e-9 * double(time.tv_nsec);
    time.tv_sec = time_t(whole);
    time.tv_nsec = long((whole - double(time.tv_sec)) * 1e9);
    return time;
}

static void run_workers(Launch& launch, int count)
{
    Watch watch;
    watch.launch = &launch;
    watch.working = count;
    std::vector<pthread_t> threads(static_cast<size_t>(count));
    for (pthread_t& thread : threads) pthread_create(&thread, nullptr, worker_main, &watch);
    pthread_mutex_lock(&watch.lock);
    timespec limit = seconds_from_now(launch.request->timeout);
    while (watch.working) {
        if (!pthread_cond_timedwait(&watch.ended, &watch.lock, &limit)) continue;
        // Too long: interrupt whoever still runs, again and again, since it may be between two threads.
        for (pthread_t thread : threads) pthread_kill(thread, watchdog_signal);
        limit = seconds_from_now(0.05);
    }
    pthread_mutex_unlock(&watch.lock);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

// Every stack with its guard page takes two of the mappings that the system grants a process (65530 on Linux).
static int workers_for(const Request& request)
{
    constexpr unsigned long most_stacks = 10000;
    unsigned long threads = 1;
    for (int i = 0; i < 3; ++i) threads *= (unsigned long)(request.block[i]) * request.cluster[i];
    const int fitting = int(most_stacks / threads);
    const int wanted = request.check ? 1 : request.os_threads;
    return wanted < 1 || fitting < 1 ? 1 : wanted < fitting ? wanted : fitting;
}

double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

extern "C" __attribute__((visibility("default"))) int tilegen_emulator_launch(const Request* request,
                                                                              Report* report)
{
    memset(report, 0, sizeof *report);
    if (!take_worker_key()) {
        snprintf(report->message, sizeof report->message, "the process has no more keys of threads (PTHREAD_KEYS_MAX)");
        return report->failed = 1;
    }
    Launch launch;
    launch.request = request;
    launch.report = report;
    guard_arrays(launch);
    catch_signals();
    const double start = now();
    run_workers(launch, workers_for(*request));
    report->seconds = now() - start;
    release_signals();
    drop_worker_key();
    release_arrays(launch);
    report->blocks = uint64_t(request->grid[0]) * request->grid[1] * request->grid[2];
    report->switches = launch.switches;
    report->meetings = launch.meetings;
    report->barriers = launch.barriers;
    report->shared_bytes = launch.shared_bytes;
    fflush(stdout);
    return report->failed;
}

} // namespace tilegen_emulator
