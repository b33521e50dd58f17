// The library of C++ that clang may use (libc++) keeps these out of its headers. With them here, a kernel is
// linked without that library, which a compiler without an installed one would have to build first.
#include <stdarg.h>

#include <vector>

#include "machine.h"

#if defined(_LIBCPP_VERSION)

void* operator new(size_t bytes)
{
    if (void* memory = malloc(bytes)) return memory;
    fprintf(stderr, "tilegen emulator: out of memory\n");
    abort();
}

void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }

namespace std {
inline namespace _LIBCPP_ABI_NAMESPACE {
[[noreturn]] void __libcpp_verbose_abort(const char* format, ...) noexcept
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    abort();
}
}
}

#endif
