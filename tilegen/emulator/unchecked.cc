// What stands for the checker (checker.cc, clocks.cc, global_memory.cc) where no access is watched. Weak: the
// checker's own definitions are taken where a file is linked with them.
#include "scheduler.h"

#define UNCHECKED __attribute__((weak))

namespace tilegen_emulator {

UNCHECKED void start_checker(Group&) {}
UNCHECKED void end_checker(Group&) {}
UNCHECKED void delete_checker() {}

static void check_alignment(const void* pointer, size_t bytes, size_t alignment, const char* what,
                            const char* verb, Place at)
{
    if (uintptr_t(pointer) % alignment)
        fault(at, "misaligned access: %s %s %zu bytes at an address that is not a multiple of %zu", what,
              verb, bytes, alignment);
}

UNCHECKED void touch_read(const void* pointer, size_t bytes, size_t alignment, const char* what, Place at)
{ check_alignment(pointer, bytes, alignment, what, "reads", at); }
UNCHECKED void touch_write(void* pointer, size_t bytes, size_t alignment, const char* what, Place at)
{ check_alignment(pointer, bytes, alignment, what, "writes", at); }
UNCHECKED void check_atomic(void* pointer, size_t bytes, Place at)
{ check_alignment(pointer, bytes, bytes, "an atomic", "updates", at); }

UNCHECKED void begin_async_write(void*, size_t, Place) {}
UNCHECKED void end_async_write(void*, size_t) {}
UNCHECKED void begin_async_read(const void*, size_t, const char*, Place) {}
UNCHECKED void end_async_read(const void*, size_t) {}
UNCHECKED void check_async_read(const void*, size_t, const char*, Place) {}

UNCHECKED void order_threads(Block&, Thread* const*, size_t) {}
UNCHECKED void publish(Thread&, Clock*&) {}
UNCHECKED void observe(Thread&, const Clock*) {}
UNCHECKED void forget(Clock*&) {}
UNCHECKED void pass_on(const Thread&, Clock*&, Clock*&) {}
UNCHECKED void keep_seen(Thread&) {}
UNCHECKED bool has_seen(const Thread&, unsigned, uint32_t) { return true; }
UNCHECKED bool had_seen(const Thread&, unsigned, uint32_t) { return true; }
UNCHECKED unsigned number_in_group(const Thread& thread)
{ return thread.block->rank * thread.block->count + thread.identity.linear; }

} // namespace tilegen_emulator
