// cp.async with groups. A copy reads its source when it is waited for, at the last moment that hardware may.
#include "groups.h"
#include "scheduler.h"

namespace tilegen_emulator {

struct QueuedCopy {
    char* destination;
    const char* source;
    size_t bytes, filled;
    Place at;
};

struct CopyQueue {
    std::vector<QueuedCopy> copies; // in the order of issue
    Groups groups;
};

// Without the checker, an address in the surroundings of an array is still known to be wrong.
static void check_source(const void* source, size_t bytes, Place at)
{
    const char* pointer = static_cast<const char*>(source);
    for (const GuardedArray& array : worker->launch->arrays) {
        if (!array.mapping || pointer < array.mapping || pointer >= array.mapping + array.mapped) continue;
        if (pointer >= array.data && pointer + bytes <= array.data + array.bytes) return;
        char where[200];
        describe_address(*worker->launch, worker->running,
                         pointer < array.data ? pointer : pointer + bytes - 1, where, sizeof where);
        fault(at, "out-of-bounds access: cp.async reads %zu bytes, %s", bytes, where);
    }
}

void queue_copy(void* destination, const void* source, size_t bytes, size_t filled, Place at)
{
    if (!is_shared(destination)) fault(at, "cp.async: the destination is not in shared memory");
    if (uintptr_t(destination) % bytes)
        fault(at, "misaligned access: cp.async of %zu bytes to a multiple of %zu", bytes,
              size_t(uintptr_t(destination) & -uintptr_t(destination)));
    if (filled && uintptr_t(source) % bytes)
        fault(at, "misaligned access: cp.async of %zu bytes from a multiple of %zu", bytes,
              size_t(uintptr_t(source) & -uintptr_t(source)));
    if (filled) {
        check_source(source, filled, at);
        touch_read(source, filled, 1, "cp.async", at);
    }
    begin_async_write(destination, bytes, at);
    memset(destination, 0xff, bytes);
    Thread& thread = *worker->running;
    if (!thread.copies) thread.copies = new CopyQueue;
    thread.copies->copies.push_back(
        {static_cast<char*>(destination), static_cast<const char*>(source), bytes, filled, at});
}

void commit_copies(Place)
{
    Thread& thread = *worker->running;
    if (!thread.copies) thread.copies = new CopyQueue;
    thread.copies->groups.commit(thread.copies->copies.size());
}

void wait_for_copies(int groups_pending, Place)
{
    CopyQueue* queue = worker->running->copies;
    if (!queue) return;
    const size_t count = queue->groups.complete(size_t(groups_pending));
    for (size_t i = 0; i < count; ++i) {
        const QueuedCopy& copy = queue->copies[i];
        memcpy(copy.destination, copy.source, copy.filled);
        memset(copy.destination + copy.filled, 0, copy.bytes - copy.filled);
        end_async_write(copy.destination, copy.bytes);
    }
    queue->copies.erase(queue->copies.begin(), queue->copies.begin() + long(count));
}

// Copies that nobody waited for still land, after everything that the thread did.
void finish_copies(Thread& thread)
{
    if (!thread.copies) return;
    commit_copies({nullptr, 0});
    wait_for_copies(0, {nullptr, 0});
    delete thread.copies;
    thread.copies = nullptr;
}

} // namespace tilegen_emulator
