// The functions that code compiled with -fsanitize=thread calls at its loads and stores. The sanitizer's own
// library is not linked: these are the only definitions.
#include "checker.h"

namespace tilegen_emulator {

__attribute__((always_inline)) static inline void instrumented(void* pointer, size_t bytes, size_t alignment,
                                                               Kind kind, void* returns_to)
{
    const Worker* own = current_worker();
    if (!own || !own->running) return;
    const Site site = site_here(uintptr_t(returns_to) - 1, {nullptr, 0}, nullptr);
    if (uintptr_t(pointer) % alignment)
        access_fault(site, nullptr,
                     "misaligned access: %s %zu bytes at an address that is not a multiple of %zu",
                     kind == Kind::read ? "reads" : "writes", bytes, alignment);
    check_access(pointer, bytes, kind, site);
}

#define HOOK extern "C" __attribute__((visibility("hidden"))) void
#define HOOKS(BYTES)                                                                                         \
    HOOK __tsan_read##BYTES(void* p)                                                                         \
    { instrumented(p, BYTES, BYTES, Kind::read, __builtin_return_address(0)); }                              \
    HOOK __tsan_write##BYTES(void* p)                                                                        \
    { instrumented(p, BYTES, BYTES, Kind::write, __builtin_return_address(0)); }                             \
    HOOK __tsan_unaligned_read##BYTES(void* p)                                                               \
    { instrumented(p, BYTES, 1, Kind::read, __builtin_return_address(0)); }                                  \
    HOOK __tsan_unaligned_write##BYTES(void* p)                                                              \
    { instrumented(p, BYTES, 1, Kind::write, __builtin_return_address(0)); }                                 \
    HOOK __tsan_volatile_read##BYTES(void* p)                                                                \
    { instrumented(p, BYTES, BYTES, Kind::read, __builtin_return_address(0)); }                              \
    HOOK __tsan_volatile_write##BYTES(void* p)                                                               \
    { instrumented(p, BYTES, BYTES, Kind::write, __builtin_return_address(0)); }                             \
    HOOK __tsan_read_write##BYTES(void* p)                                                                   \
    {                                                                                                        \
        instrumented(p, BYTES, BYTES, Kind::read, __builtin_return_address(0));                              \
        instrumented(p, BYTES, BYTES, Kind::write, __builtin_return_address(0));                             \
    }                                                                                                        \
    HOOK __tsan_unaligned_read_write##BYTES(void* p)                                                         \
    {                                                                                                        \
        instrumented(p, BYTES, 1, Kind::read, __builtin_return_address(0));                                  \
        instrumented(p, BYTES, 1, Kind::write, __builtin_return_address(0));                                 \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
#undef HOOKS

HOOK __tsan_read_range(void* p, size_t n) { instrumented(p, n, 1, Kind::read, __builtin_return_address(0)); }
HOOK __tsan_write_range(void* p, size_t n)
{ instrumented(p, n, 1, Kind::write, __builtin_return_address(0)); }
HOOK __tsan_init() {}
HOOK __tsan_func_entry(void*) {}
HOOK __tsan_func_exit() {}
HOOK __tsan_vptr_read(void*) {}
HOOK __tsan_vptr_update(void**, void*) {}

extern "C" __attribute__((visibility("hidden"))) void* __tsan_memcpy(void* to, const void* from, size_t n)
{
    instrumented(const_cast<void*>(from), n, 1, Kind::read, __builtin_return_address(0));
    instrumented(to, n, 1, Kind::write, __builtin_return_address(0));
    return memcpy(to, from, n);
}

extern "C" __attribute__((visibility("hidden"))) void* __tsan_memmove(void* to, const void* from, size_t n)
{
    instrumented(const_cast<void*>(from), n, 1, Kind::read, __builtin_return_address(0));
    instrumented(to, n, 1, Kind::write, __builtin_return_address(0));
    return memmove(to, from, n);
}

extern "C" __attribute__((visibility("hidden"))) void* __tsan_memset(void* to, int value, size_t n)
{
    instrumented(to, n, 1, Kind::write, __builtin_return_address(0));
    return memset(to, value, n);
}

} // namespace tilegen_emulator
