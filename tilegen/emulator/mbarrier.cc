// mbarriers: an arrival count and a byte count for each phase; waiting is by the parity of the phase.
#include "transactions.h"

#include "mbarrier.h"

namespace tilegen_emulator {

static Block& block_of(const void* pointer, Place at)
{
    for (Block& block : worker->running->block->group->blocks)
        if (pointer >= block.arena && pointer < block.arena + arena_bytes) return block;
    fault(at, "an mbarrier outside of shared memory: %p", pointer);
}

static Barrier* look_up(Block& block, const void* word)
{
    for (Barrier* barrier : block.barriers)
        if (barrier->word == word) return barrier;
    return nullptr;
}

Barrier& find_barrier(void* word, Place at)
{
    Barrier* barrier = look_up(block_of(word, at), word);
    if (!barrier) {
        char where[200];
        fault(at, "there is no initialised mbarrier at %s",
              describe_shared(block_of(word, at), static_cast<char*>(word), where, sizeof where));
    }
    return *barrier;
}

void init_barrier(void* word, unsigned count, Place at)
{
    if (uintptr_t(word) % 8)
        fault(at, "misaligned access: an mbarrier at an address that is not a multiple of 8");
    if (count < 1 || count > 1048575) fault(at, "an mbarrier for %u arrivals", count);
    Block& block = block_of(word, at);
    touch_write(word, 8, 8, "mbarrier_init", at);
    Barrier* barrier = look_up(block, word);
    if (!barrier) block.barriers.push_back(barrier = new Barrier());
    if (!barrier->copies.empty()) fault(at, "mbarrier_init while copies to this barrier are under way");
    barrier->word = word;
    barrier->count = barrier->pending = count;
    barrier->phase = 0;
    barrier->bytes = 0;
    barrier->initialised = at;
}

void forget_barriers(Block& block)
{
    for (Barrier* barrier : block.barriers) {
        forget(barrier->clock);
        for (TensorCommit& commit : barrier->commits) forget(commit.clock);
        delete barrier;
    }
    block.barriers.clear();
}

static void complete_phase(Barrier& barrier)
{
    if (barrier.pending || barrier.bytes) return;
    ++barrier.phase;
    barrier.pending = barrier.count;
    ++worker->barriers;
}

void complete_bytes(Barrier& barrier, long bytes)
{
    barrier.bytes -= bytes;
    complete_phase(barrier);
}

void arrive_at_barrier(void* word, unsigned arrivals, long expected_bytes, Place at)
{
    Barrier& barrier = find_barrier(word, at);
    if (arrivals > barrier.pending)
        fault(at, "an arrival too many at the mbarrier of %s:%d: all %u of this phase have been made",
              barrier.initialised.file, barrier.initialised.line, barrier.count);
    publish(*worker->running, barrier.clock);
    barrier.bytes += expected_bytes;
    barrier.pending -= arrivals;
    complete_phase(barrier);
}

// Copies happen as late as they may: when somebody waits for them.
static void carry_out_copies(Barrier& barrier)
{
    std::vector<TensorCopy> copies;
    copies.swap(barrier.copies);
    for (const TensorCopy& copy : copies) {
        perform_load(copy);
        publish(*worker->running, barrier.clock);
        complete_bytes(barrier, long(box_bytes(copy.map)));
    }
}

static bool passed(const Barrier& barrier, unsigned parity) { return (barrier.phase & 1) != (parity & 1); }

// So do products: their arrivals come one by one, until the phase is complete.
static void carry_out_commits(Barrier& barrier, unsigned parity)
{
    while (!barrier.commits.empty() && !passed(barrier, parity)) {
        TensorCommit commit = barrier.commits[0];
        barrier.commits.erase(barrier.commits.begin());
        carry_out_commit(commit);
        if (!barrier.pending)
            fault(commit.at, "an arrival too many at the mbarrier of %s:%d", barrier.initialised.file,
                  barrier.initialised.line);
        pass_on(*worker->running, barrier.clock, commit.clock);
        --barrier.pending;
        complete_phase(barrier);
    }
}

bool barrier_passed(void* word, unsigned parity, Place at)
{
    Barrier& barrier = find_barrier(word, at);
    if (!passed(barrier, parity)) carry_out_copies(barrier);
    carry_out_commits(barrier, parity);
    if (!passed(barrier, parity)) return false;
    observe(*worker->running, barrier.clock);
    return true;
}

struct ParityWait {
    const Barrier* barrier;
    unsigned parity;
    const Block* block;
};

static bool something_to_do(void* argument)
{
    const ParityWait& wait = *static_cast<ParityWait*>(argument);
    return passed(*wait.barrier, wait.parity) || !wait.barrier->copies.empty() ||
           !wait.barrier->commits.empty();
}

static void describe_phase(void* argument, char* buffer, size_t size)
{
    const ParityWait& wait = *static_cast<ParityWait*>(argument);
    const Barrier& barrier = *wait.barrier;
    char where[200];
    describe_shared(*wait.block, static_cast<char*>(barrier.word), where, sizeof where);
    snprintf(buffer, size,
             "parity %u of the mbarrier of %s:%d at %s, whose phase %llu lacks %u of %u arrivals and %ld bytes",
             wait.parity & 1, barrier.initialised.file, barrier.initialised.line, where,
             (unsigned long long)barrier.phase, barrier.pending, barrier.count, barrier.bytes);
}

void wait_for_barrier(void* word, unsigned parity, Place at)
{
    ParityWait wait = {&find_barrier(word, at), parity, &block_of(word, at)};
    while (!barrier_passed(word, parity, at))
        wait_until({something_to_do, describe_phase}, &wait, "mbarrier_wait", at);
}

bool try_barrier(void* word, unsigned parity, Place at)
{
    ParityWait wait = {&find_barrier(word, at), parity, &block_of(word, at)};
    if (!barrier_passed(word, parity, at))
        wait_a_while({something_to_do, describe_phase}, &wait, "mbarrier_try_wait", at);
    return barrier_passed(word, parity, at);
}

// ---- Clusters, proxies, registers ----------------------------------------------------------------
void* in_block_of_cluster(const void* pointer, unsigned rank, Place at)
{
    Block& own = block_of(pointer, at);
    if (rank >= own.group->blocks.size())
        fault(at, "the cluster of %zu blocks has no block %u", own.group->blocks.size(), rank);
    const Block& other = own.group->blocks[rank];
    if (other.finished == other.count) fault(at, "block %u of the cluster has ended already", rank);
    return other.arena + (static_cast<const char*>(pointer) - own.arena);
}

// From here the async proxy (TMA, wgmma) sees what this thread wrote to shared memory before.
void fence_for_async_proxy(Place)
{
    Thread& thread = *worker->running;
    thread.fenced = thread.time++;
}

struct RegisterWait {
    Block* block;
    long needed;
};

static bool registers_free(void* argument)
{
    const RegisterWait& wait = *static_cast<RegisterWait*>(argument);
    return wait.block->free_registers >= wait.needed;
}

static void describe_registers(void* argument, char* buffer, size_t size)
{
    const RegisterWait& wait = *static_cast<RegisterWait*>(argument);
    snprintf(buffer, size, "%ld registers of %ld that are free", wait.needed, wait.block->free_registers);
}

// Every thread counts for itself: a warpgroup that asks for more waits until others have given enough back.
void change_registers(int registers, bool more, Place at)
{
    Thread& thread = *worker->running;
    Block& block = *thread.block;
    if (registers < 24 || registers > 256 || registers % 8)
        fault(at, "setmaxnreg to %d: a multiple of 8 from 24 to 256 is needed", registers);
    const int at_start = int(65536 / block.count) / 8 * 8, now = thread.registers ? thread.registers
                                                                 : at_start > 248 ? 248
                                                                                  : at_start;
    if (more ? registers < now : registers > now)
        fault(at, "setmaxnreg.%s to %d, from %d registers", more ? "inc" : "dec", registers, now);
    RegisterWait wait = {&block, registers - now};
    const Awaited awaited = {registers_free, describe_registers};
    if (more) wait_until(awaited, &wait, "setmaxnreg.inc: no registers are free", at);
    block.free_registers -= wait.needed;
    thread.registers = registers;
}

} // namespace tilegen_emulator
