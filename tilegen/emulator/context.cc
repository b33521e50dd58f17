// Switching from one fibre to another: a dozen instructions where we know the machine, else ucontext.
#include "scheduler.h"

#if !defined(TILEGEN_PORTABLE_CONTEXT) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(_WIN32)
#define TILEGEN_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

#if defined(__APPLE__)
#define SYMBOL "_tilegen_emulator_switch"
#else
#define SYMBOL "tilegen_emulator_switch"
#endif

#if TILEGEN_OWN_SWITCH && defined(__x86_64__)
asm(".text\n"
    ".globl " SYMBOL "\n" SYMBOL ":\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n");
#elif TILEGEN_OWN_SWITCH
asm(".text\n"
    ".globl " SYMBOL "\n"
    ".p2align 2\n" SYMBOL ":\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");
#endif

namespace tilegen_emulator {

#if TILEGEN_OWN_SWITCH

extern "C" void tilegen_emulator_switch(void** save, void* load);

void switch_context(void** save, void* load) { tilegen_emulator_switch(save, load); }

// Lays out a stack as if `entry` had been left by a switch just before its first instruction.
void* new_context(void* stack_top, void (*entry)())
{
    void** top = reinterpret_cast<void**>(uintptr_t(stack_top) & ~uintptr_t(15));
#if defined(__x86_64__)
    *--top = nullptr; // the return address of entry, which never returns
    *--top = reinterpret_cast<void*>(entry);
    for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
#else
    top -= 20;
    for (int saved = 0; saved < 20; ++saved) top[saved] = nullptr;
    top[11] = reinterpret_cast<void*>(entry); // x30
#endif
    return top;
}

// The innermost frame of a context that was left.
void** saved_frame(void* saved)
{
#if defined(__x86_64__)
    return static_cast<void**>(saved) + 5; // where the switch put rbp, before its return address
#else
    return static_cast<void**>(saved) + 10; // x29 and x30
#endif
}

#else

// A context is a ucontext_t at the top of the fibre's stack; the scheduler's is made once for each worker.
void switch_context(void** save, void* load)
{
    if (!*save) *save = new ucontext_t;
    swapcontext(static_cast<ucontext_t*>(*save), static_cast<ucontext_t*>(load));
}

void* new_context(void* stack_top, void (*entry)())
{
    char* top = reinterpret_cast<char*>(uintptr_t(stack_top) & ~uintptr_t(63)) - sizeof(ucontext_t) - 64;
    ucontext_t* context = new (reinterpret_cast<void*>(uintptr_t(top) & ~uintptr_t(63))) ucontext_t;
    getcontext(context);
    const size_t usable = stack_bytes / 2;
    context->uc_stack.ss_sp = reinterpret_cast<char*>(context) - usable;
    context->uc_stack.ss_size = usable;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    return context;
}

void** saved_frame(void*) { return nullptr; }

#endif

} // namespace tilegen_emulator
