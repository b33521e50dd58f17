// Where a thread was when it ran into a fault: the calls around it, found through the frame pointers that the
// kernel and the runtime are compiled with.
#include "scheduler.h"

namespace tilegen_emulator {

// A frame starts with the address of the caller's frame, and the address that it returns to.
void record_calls(const Thread& thread, Report& report)
{
    report.call_count = 0;
    const bool runs = worker->running == &thread;
    void** frame = runs ? static_cast<void**>(__builtin_frame_address(0)) : saved_frame(thread.saved);
    const char* const alternate = worker->signal_stack; // a signal handler runs here
    while (frame && report.call_count < calls_kept) {
        const char* at = reinterpret_cast<const char*>(frame);
        const bool inside = at >= thread.stack && at + 16 <= thread.stack + stack_bytes;
        if (!inside && !(at >= alternate && at + 16 <= alternate + signal_stack_bytes)) break;
        // the call is the instruction before
        const uint64_t call = library_offset(uintptr_t(frame[1]) - 1);
        if (inside && call) report.calls[report.call_count++] = call;
        void** const outer = static_cast<void**>(frame[0]);
        if (inside && outer <= frame) break;
        frame = outer;
    }
}

} // namespace tilegen_emulator
