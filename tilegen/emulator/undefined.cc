// sanitize=True: what code compiled with -fsanitize=undefined calls when it is about to do something that
// C++ does not define. The sanitizer's own library is not linked. Every record starts with the place in the
// source.
#include "scheduler.h"

namespace tilegen_emulator {

struct SourceLocation {
    const char* file;
    uint32_t line, column;
};

[[noreturn]] static void undefined(const void* record, const char* what)
{
    const SourceLocation& location = *static_cast<const SourceLocation*>(record);
    fault({location.file, int(location.line)}, "undefined behaviour: %s", what);
}

#define HANDLER(NAME, WHAT)                                                                                  \
    extern "C" __attribute__((visibility("hidden"))) void __ubsan_handle_##NAME(void* record)                \
    { undefined(record, WHAT); }                                                                             \
    extern "C" __attribute__((visibility("hidden"))) void __ubsan_handle_##NAME##_abort(void* record)        \
    { undefined(record, WHAT); }
HANDLER(alignment_assumption, "a pointer that is less aligned than assumed")
HANDLER(pointer_overflow, "pointer arithmetic that overflows")
HANDLER(out_of_bounds, "an index outside of its array")
HANDLER(shift_out_of_bounds, "a shift by a negative count, or by the width or more")
HANDLER(add_overflow, "a signed addition that overflows")
HANDLER(sub_overflow, "a signed subtraction that overflows")
HANDLER(mul_overflow, "a signed multiplication that overflows")
HANDLER(negate_overflow, "a negation that overflows")
HANDLER(divrem_overflow, "a division by zero, or one that overflows")
HANDLER(float_cast_overflow, "a float that does not fit the integer type it is converted to")
HANDLER(load_invalid_value, "a bool or enum with an impossible value")
HANDLER(builtin_unreachable, "code that was declared unreachable")
HANDLER(missing_return, "the end of a function that should have returned a value")
HANDLER(vla_bound_not_positive, "an array without elements")
HANDLER(nonnull_arg, "a null pointer for a parameter that must not be null")
HANDLER(nullability_arg, "a null pointer for a parameter that must not be null")
HANDLER(nonnull_return_v1, "a null pointer returned where it must not be")
HANDLER(nullability_return_v1, "a null pointer returned where it must not be")
HANDLER(invalid_builtin, "a builtin called with zero")
#undef HANDLER

struct TypeMismatch {
    SourceLocation location;
    const void* type;
    unsigned char alignment_log, kind;
};

[[noreturn]] static void mismatch(const void* record, uintptr_t pointer)
{
    const TypeMismatch& data = *static_cast<const TypeMismatch*>(record);
    const Place at = {data.location.file, int(data.location.line)};
    const size_t alignment = size_t(1) << data.alignment_log;
    if (!pointer) fault(at, "an access through a null pointer");
    if (pointer % alignment) fault(at, "misaligned access: the address is not a multiple of %zu", alignment);
    undefined(record, "an access past the object that the pointer points to");
}

extern "C" __attribute__((visibility("hidden"))) void __ubsan_handle_type_mismatch_v1(void* record,
                                                                                      uintptr_t pointer)
{ mismatch(record, pointer); }

extern "C" __attribute__((visibility("hidden"))) void __ubsan_handle_type_mismatch_v1_abort(void* record,
                                                                                            uintptr_t pointer)
{ mismatch(record, pointer); }

} // namespace tilegen_emulator
