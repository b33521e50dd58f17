// The report of threads that all wait, so that none will ever go on: who waits where, and what for.
#include "scheduler.h"

#include <stdarg.h>

namespace tilegen_emulator {

// Text that is put together in a buffer, and cut off where that is full.
struct Text {
    char* buffer;
    size_t size, length;
    void add(const char* format, ...) __attribute__((format(printf, 2, 3)));
};

void Text::add(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(buffer + length, size - length, format, arguments);
    va_end(arguments);
    length = length + size_t(more) < size ? length + size_t(more) : size - 1;
}

static bool waits_like(const Thread& a, const Thread& b)
{ return a.state != State::done && a.at.line == b.at.line && a.what == b.what; }

static void describe_wait(const Thread& thread, unsigned same, Text& text)
{
    const uint3 block = thread.block->index;
    const bool several = same > 1;
    text.add(" thread %u%s of block (%u, %u, %u) %s at %s (%s:%d)", thread.identity.linear,
             several ? " and others" : "", block.x, block.y, block.z, several ? "wait" : "waits",
             thread.what, thread.at.file, thread.at.line);
    if (thread.state != State::polling || !thread.awaited.describe) return;
    char missing[400];
    thread.awaited.describe(thread.argument, missing, sizeof missing);
    text.add(" for %s", missing);
}

void report_deadlock(Group& group)
{
    char message[2048];
    Text text = {message, sizeof message, 0};
    text.add("deadlock:");
    const Thread* first = nullptr;
    unsigned places = 0;
    for (Block& block : group.blocks)
        for (Thread& thread : block.threads) {
            if (thread.state == State::done) continue;
            unsigned same = 0;
            bool earlier = false;
            for (Thread& other : block.threads) {
                if (!waits_like(other, thread)) continue;
                ++same;
                earlier |= &other < &thread;
            }
            if (earlier || ++places > 5) continue;
            if (!first) first = &thread;
            else text.add(";");
            describe_wait(thread, same, text);
        }
    record_fault(first, first ? first->at : Place{nullptr, 0}, message);
}

} // namespace tilegen_emulator
