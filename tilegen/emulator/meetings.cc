// Where threads meet: block, warp, named and cluster barriers, shuffles and votes.
#include "scheduler.h"

namespace tilegen_emulator {

static bool same_place(Place a, Place b)
{ return a.line == b.line && (a.file == b.file || !strcmp(a.file, b.file)); }

// ---- Lanes of a warp -----------------------------------------------------------------------------
static Thread& lane_of(const Thread& thread, unsigned lane)
{ return thread.block->threads[thread.identity.warp_number * thread.identity.warp_size + lane]; }

// Are all lanes of the mask there, for the same meeting?
static bool complete(const Thread& thread, uint64_t mask)
{
    if ((thread.warp->arrived & mask) != mask) return false;
    for (unsigned lane = 0; lane < thread.identity.warp_size; ++lane)
        if (mask >> lane & 1) {
            const Thread& other = lane_of(thread, lane);
            if (other.mask != thread.mask) return false;
        }
    return true;
}

static void hold_meeting(Thread& thread, uint64_t mask)
{
    void* requests[64] = {};
    Thread* members[64];
    size_t count = 0;
    for (unsigned lane = 0; lane < thread.identity.warp_size; ++lane) {
        if (!(mask >> lane & 1)) continue;
        Thread& other = lane_of(thread, lane);
        if (other.perform != thread.perform)
            fault(thread.at, "warp divergence: lane %u is at %s (%s:%d), lane %u is at %s (%s:%d)",
                  thread.identity.lane, thread.what, thread.at.file, thread.at.line, lane, other.what,
                  other.at.file, other.at.line);
        requests[lane] = other.request;
        members[count++] = &other;
    }
    if (thread.perform) thread.perform(requests, mask);
    // A shuffle orders no memory by the letter, but what was loaded before it has been loaded. So every
    // meeting counts as a barrier of its lanes.
    order_threads(*thread.block, members, count);
    thread.warp->arrived &= ~mask;
    for (size_t i = 0; i < count; ++i)
        if (members[i]->state == State::at_warp) members[i]->state = State::ready;
}

void meet(uint64_t mask, void* request, Perform perform, const char* what, Place at)
{
    Thread& thread = *worker->running;
    ++worker->meetings;
    const uint64_t own = uint64_t(1) << thread.identity.lane;
    mask &= thread.warp->members;
    if (!(mask & own))
        fault(at, "%s: lane %u is not in its own mask 0x%llx", what, thread.identity.lane,
              (unsigned long long)mask);
    thread.mask = mask;
    thread.request = request;
    thread.perform = perform;
    thread.what = what;
    thread.at = at;
    thread.warp->arrived |= own;
    const uint64_t present = mask & ~thread.warp->exited;
    if (complete(thread, present)) hold_meeting(thread, present);
    else park(State::at_warp, what, at);
}

// A lane that leaves may be the last one that a meeting waited for.
void finish_meetings(Warp& warp, Block& block)
{
    for (Thread& thread : block.threads) {
        if (thread.warp != &warp || thread.state != State::at_warp) continue;
        const uint64_t present = thread.mask & ~warp.exited;
        if (complete(thread, present)) hold_meeting(thread, present);
    }
}

void warp_barrier(uint64_t mask, Place at) { meet(mask, nullptr, nullptr, "__syncwarp", at); }

struct Word {
    uint64_t value, result;
    unsigned source;
};

static void perform_shuffle(void* const* requests, uint64_t mask)
{
    for (unsigned lane = 0; lane < 64; ++lane) {
        if (!(mask >> lane & 1)) continue;
        Word& word = *static_cast<Word*>(requests[lane]);
        // A lane outside of the mask gives an undefined value: all ones here (see `shuffle`).
        word.result =
            mask >> word.source & 1 ? static_cast<Word*>(requests[word.source])->value : ~uint64_t(0);
    }
}

uint64_t shuffle(uint64_t mask, uint64_t value, unsigned source_lane, Place at)
{
    const Thread& thread = *worker->running;
    Word word = {value, 0, source_lane & 63};
    meet(mask, &word, perform_shuffle, "a shuffle", at);
    const bool partial = !(thread.warp->members >> word.source & 1);
    if (!partial && !(thread.mask >> word.source & 1))
        fault(at, "a shuffle reads from lane %u, which is not in the mask 0x%llx", word.source,
              (unsigned long long)thread.mask);
    return word.result;
}

static void perform_vote(void* const* requests, uint64_t mask)
{
    uint64_t votes = 0;
    for (unsigned lane = 0; lane < 64; ++lane)
        if (mask >> lane & 1 && static_cast<Word*>(requests[lane])->value) votes |= uint64_t(1) << lane;
    for (unsigned lane = 0; lane < 64; ++lane)
        if (mask >> lane & 1) static_cast<Word*>(requests[lane])->result = votes;
}

uint64_t vote(uint64_t mask, bool value, Place at)
{
    Word word = {value, 0, 0};
    meet(mask, &word, perform_vote, "a vote", at);
    return word.result;
}

static void perform_match(void* const* requests, uint64_t mask)
{
    for (unsigned lane = 0; lane < 64; ++lane) {
        if (!(mask >> lane & 1)) continue;
        Word& word = *static_cast<Word*>(requests[lane]);
        for (unsigned other = 0; other < 64; ++other)
            if (mask >> other & 1 && static_cast<Word*>(requests[other])->value == word.value)
                word.result |= uint64_t(1) << other;
    }
}

uint64_t match_any(uint64_t mask, uint64_t value, Place at)
{
    Word word = {value, 0, 0};
    meet(mask, &word, perform_match, "__match_any_sync", at);
    return word.result;
}

uint64_t active_lanes() { return worker->running->warp->members & ~worker->running->warp->exited; }

// ---- The block -----------------------------------------------------------------------------------
void block_barrier(Place at, const char* what)
{
    Thread& thread = *worker->running;
    Block& block = *thread.block;
    if (block.finished)
        fault(at, "barrier divergence: %u of %u threads have left the kernel and never reach this %s",
              block.finished, block.count, what);
    if (block.waiting && !same_place(block.barrier, at))
        fault(at, "barrier divergence: thread %u is at this %s, others wait at the one of %s:%d",
              thread.identity.linear, what, block.barrier.file, block.barrier.line);
    block.barrier = at;
    block.barrier_name = what;
    if (++block.waiting < block.count) return park(State::at_barrier, what, at);
    block.waiting = 0;
    ++worker->barriers;
    std::vector<Thread*> members;
    for (Thread& other : block.threads) {
        members.push_back(&other);
        if (&other != &thread) other.state = State::ready;
    }
    order_threads(block, members.data(), members.size());
}

void block_barrier_vote(int value, int result[3], Place at)
{
    Block& block = *worker->running->block;
    block.votes[0] += value != 0;
    block.votes[1] &= value != 0;
    block.votes[2] |= value != 0;
    if (block.waiting + 1 == block.count) {
        memcpy(block.outcome, block.votes, sizeof block.outcome);
        block.votes[0] = block.votes[2] = 0, block.votes[1] = 1;
    }
    block_barrier(at, "__syncthreads with a vote");
    memcpy(result, block.outcome, sizeof block.outcome);
}

// ---- Named barriers ------------------------------------------------------------------------------
static bool join_named_barrier(int id, int threads, Place at)
{
    Thread& thread = *worker->running;
    if (id < 0 || id >= named_barriers) fault(at, "named barrier %d: there are only %d", id, named_barriers);
    NamedBarrier& barrier = thread.block->named[id];
    if (threads <= 0 || threads % int(thread.identity.warp_size))
        fault(at, "named barrier %d for %d threads: not a multiple of the warp size", id, threads);
    if (barrier.arrived && barrier.expected != threads)
        fault(at, "named barrier %d for %d threads, but others came for %d (%s:%d)", id, threads,
              barrier.expected, barrier.first.file, barrier.first.line);
    if (!barrier.arrived) barrier.first = at;
    barrier.expected = threads;
    publish(thread, barrier.clock);
    if (++barrier.arrived < threads) return false;
    barrier.arrived = 0;
    ++barrier.phase;
    ++worker->barriers;
    return true;
}

struct PhaseWait {
    NamedBarrier* barrier;
    unsigned phase;
};

static bool phase_passed(void* argument)
{
    const PhaseWait& wait = *static_cast<PhaseWait*>(argument);
    return wait.barrier->phase != wait.phase;
}

static void describe_barrier(void* argument, char* buffer, size_t size)
{
    const NamedBarrier& barrier = *static_cast<PhaseWait*>(argument)->barrier;
    snprintf(buffer, size, "%d more of %d threads", barrier.expected - barrier.arrived, barrier.expected);
}

void join_barrier(int id, int threads, bool wait, Place at)
{
    PhaseWait passing = {&worker->running->block->named[id & (named_barriers - 1)], 0};
    passing.phase = passing.barrier->phase;
    const bool last = join_named_barrier(id, threads, at);
    if (!wait) return;
    if (!last) wait_until({phase_passed, describe_barrier}, &passing, "a named barrier", at);
    observe(*worker->running, passing.barrier->clock);
}

// ---- The cluster ---------------------------------------------------------------------------------
struct ClusterWait {
    Group* group;
    unsigned phase;
};

static bool cluster_passed(void* argument)
{
    const ClusterWait& wait = *static_cast<ClusterWait*>(argument);
    return wait.group->cluster_phase != wait.phase;
}

void cluster_barrier_arrive(Place)
{
    Thread& thread = *worker->running;
    Group& group = *thread.block->group;
    thread.cluster_phase = group.cluster_phase; // the phase that it will wait for
    const unsigned total = unsigned(group.blocks.size()) * thread.block->count;
    publish(thread, group.clock);
    if (++group.cluster_arrived < total) return;
    group.cluster_arrived = 0;
    ++group.cluster_phase;
    ++worker->barriers;
}

static void describe_cluster(void* argument, char* buffer, size_t size)
{
    const Group& group = *static_cast<ClusterWait*>(argument)->group;
    const unsigned total = unsigned(group.blocks.size()) * group.blocks[0].count;
    snprintf(buffer, size, "%u more of %u threads", total - group.cluster_arrived, total);
}

void cluster_barrier_wait(Place at)
{
    Thread& thread = *worker->running;
    ClusterWait wait = {thread.block->group, thread.cluster_phase};
    wait_until({cluster_passed, describe_cluster}, &wait, "the cluster barrier", at);
    observe(thread, wait.group->clock);
}

} // namespace tilegen_emulator
