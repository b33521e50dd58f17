// Who has seen what of whom: vector clocks over the threads of the blocks that are resident together.
// A thread's `time` counts its own releases; `seen->times[u]` is the last time of thread u that it knows of.
#include "checker.h"

namespace tilegen_emulator {

static Clock* new_clock(size_t threads)
{
    Clock* clock = static_cast<Clock*>(calloc(1, sizeof(Clock) + threads * sizeof(uint32_t)));
    clock->users = 1;
    return clock;
}

static void drop(Clock* clock)
{
    if (clock && --clock->users == 0) free(clock);
}

static void merge(Clock& into, const Clock* from, size_t threads)
{
    if (!from) return;
    for (size_t i = 0; i < threads; ++i)
        if (into.times[i] < from->times[i]) into.times[i] = from->times[i];
}

unsigned number_in_group(const Thread& thread)
{ return thread.block->rank * thread.block->count + thread.identity.linear; }

static size_t threads_of(const Thread& thread)
{ return thread.block->group->blocks.size() * thread.block->count; }

// Everything that one of the threads did before now happens before everything that any of them does after.
void order_threads(Block& block, Thread* const* threads, size_t count)
{
    if (!block.group->checker || !count) return;
    const size_t total = threads_of(*threads[0]);
    Clock* joint = new_clock(total);
    const Clock* last = nullptr;
    for (size_t i = 0; i < count; ++i) {
        if (threads[i]->seen != last) merge(*joint, last = threads[i]->seen, total);
        joint->times[number_in_group(*threads[i])] = threads[i]->time;
    }
    for (size_t i = 0; i < count; ++i) {
        drop(threads[i]->seen);
        threads[i]->seen = joint;
        ++joint->users;
        ++threads[i]->time;
    }
    drop(joint);
}

// A release: whoever observes `into` later has seen what this thread did up to now.
void publish(Thread& thread, Clock*& into)
{
    if (!thread.block->group->checker) return;
    const size_t total = threads_of(thread);
    Clock* joint = new_clock(total);
    merge(*joint, into, total);
    merge(*joint, thread.seen, total);
    joint->times[number_in_group(thread)] = thread.time++;
    drop(into);
    into = joint;
}

void observe(Thread& thread, const Clock* from)
{
    if (!thread.block->group->checker || !from) return;
    const size_t total = threads_of(thread);
    Clock* joint = new_clock(total);
    merge(*joint, thread.seen, total);
    merge(*joint, from, total);
    drop(thread.seen);
    thread.seen = joint;
}

void forget(Clock*& clock)
{
    drop(clock);
    clock = nullptr;
}

// What `from` has seen, `into` has seen as well.
void pass_on(const Thread& thread, Clock*& into, Clock*& from)
{
    if (!from) return;
    const size_t total = threads_of(thread);
    merge(*from, into, total);
    drop(into);
    into = from;
    from = nullptr;
}

void keep_seen(Thread& thread)
{
    drop(thread.fenced_seen);
    thread.fenced_seen = thread.seen;
    if (thread.seen) ++thread.seen->users;
}

bool had_seen(const Thread& thread, unsigned other, uint32_t time)
{
    return other == number_in_group(thread) ||
           (thread.fenced_seen && thread.fenced_seen->times[other] >= time);
}

bool has_seen(const Thread& thread, unsigned other, uint32_t time)
{ return other == number_in_group(thread) || (thread.seen && thread.seen->times[other] >= time); }

} // namespace tilegen_emulator
