// Who may touch a column of tensor memory: nothing that is still on its way there may be in use. Where a launch is
// checked, what other threads did has to be ordered by a barrier, between tcgen05.fence::before_thread_sync and
// ::after_thread_sync.
#include "tensor_state.h"

#include "tensor_memory.h"

namespace tilegen_emulator {

static bool checked() { return worker->launch->request->check; }

void check_idle(const TensorMemory& memory, unsigned number, const char* what, Place at)
{
    const Column& column = memory.columns[number];
    if (column.products)
        fault(at, "%s of column %u of tensor memory, which the tcgen05.mma of %s:%d is still to write: wait for an "
              "mbarrier that tcgen05.commit arrives at", what, number, column.last.file, column.last.line);
    for (unsigned q = 0; q < quarters; ++q)
        if (column.stores[q])
            fault(at, "%s of column %u of tensor memory, which a tcgen05.st is still to write: tcgen05.wait::st "
                  "comes first", what, number);
}

static const Thread& thread_of(const Thread& one, uint32_t number)
{
    Group& group = *one.block->group;
    return group.blocks[number / one.block->count].threads[number % one.block->count];
}

// `before` has to be ordered before what the thread does now.
static void after(const Thread& thread, const TensorAccess& before, const char* did, bool committed,
                  const char* what, unsigned number, Place at)
{
    if (!before.time || before.thread == number_in_group(thread)) return;
    if (!has_seen(thread, before.thread, before.time))
        fault(at, "data race: %s touches column %u of tensor memory, which thread %u %s (%s:%d), and no barrier "
              "orders the two", what, number, before.thread % thread.block->count, did, before.at.file,
              before.at.line);
    if (!had_seen(thread, before.thread, before.time))
        fault(at, "%s touches column %u of tensor memory, which thread %u %s (%s:%d): after the barrier between them "
              "a tcgen05.fence::after_thread_sync is missing", what, number, before.thread % thread.block->count, did,
              before.at.file, before.at.line);
    if (!committed && thread_of(thread, before.thread).tensor_fenced < before.time)
        fault(at, "%s touches column %u of tensor memory, which thread %u %s (%s:%d) without a "
              "tcgen05.fence::before_thread_sync after it", what, number, before.thread % thread.block->count, did,
              before.at.file, before.at.line);
}

void note_product(const Thread& thread, Column& column, unsigned number, Place at)
{
    for (unsigned q = 0; q < quarters; ++q) {
        if (column.stores[q])
            fault(at, "tcgen05.mma uses column %u of tensor memory, which a tcgen05.st is still to write: "
                  "tcgen05.wait::st comes first", number);
        if (column.loads[q])
            fault(at, "tcgen05.mma writes column %u of tensor memory, which a tcgen05.ld is still to read: "
                  "tcgen05.wait::ld comes first", number);
        if (!checked()) continue;
        after(thread, column.read[q], "has read", false, "tcgen05.mma", number, at);
        after(thread, column.written[q], "has written", false, "tcgen05.mma", number, at);
    }
    if (!checked()) return;
    after(thread, column.product, "has written by tcgen05.mma", true, "tcgen05.mma", number, at);
    column.product = {thread.time, number_in_group(thread), at};
}

void note_move(const Thread& thread, const Column& column, unsigned quarter, bool load, unsigned number, Place at)
{
    if (!checked()) return;
    const char* const what = load ? "tcgen05.ld" : "tcgen05.st";
    if (load && !column.product.time && !column.written[quarter].time)
        fault(at, "tcgen05.ld reads column %u of tensor memory, which nobody has written", number);
    after(thread, column.product, "has written by tcgen05.mma", true, what, number, at);
    if (column.written[quarter].thread / 32 != number_in_group(thread) / 32)
        after(thread, column.written[quarter], "has written", false, what, number, at);
    if (!load && column.read[quarter].thread / 32 != number_in_group(thread) / 32)
        after(thread, column.read[quarter], "has read", false, what, number, at);
}

void end_move(const Thread& thread, Column& column, unsigned quarter, bool load)
{
    --(load ? column.loads : column.stores)[quarter];
    if (!checked()) return;
    (load ? column.read : column.written)[quarter] = {thread.time, number_in_group(thread), column.last};
}

void fence_tensor(bool is_after, Place)
{
    Thread& thread = *worker->running;
    if (is_after) keep_seen(thread);
    else thread.tensor_fenced = thread.time++;
}

} // namespace tilegen_emulator
