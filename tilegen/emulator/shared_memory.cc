// Shared memory. `__shared__` is thread_local to the compiler, and every use of such a variable asks a
// function of the C library for its address. We are that function: we answer with a place in the memory of
// the block that is running. So each block has its own shared memory, poisoned at its start, whatever OS
// thread it runs on.
#include "scheduler.h"

#include <link.h>

namespace tilegen_emulator {

#if defined(__clang__)

// Built with -femulated-tls: one record a variable (the same in libgcc and compiler-rt), so each variable
// gets a place of its own, with a guard zone behind it.
struct Control {
    size_t bytes, alignment;
    uintptr_t number;
    const void* initial;
};

static pthread_mutex_t numbering = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t variable_count = 0;

static uintptr_t number_of(Control* control)
{
    uintptr_t number = __atomic_load_n(&control->number, __ATOMIC_ACQUIRE);
    if (number) return number;
    const Locked locked(numbering);
    if (!control->number) __atomic_store_n(&control->number, ++variable_count, __ATOMIC_RELEASE);
    return control->number;
}

static char* place_variable(Block& block, const Control& control)
{
    const size_t alignment = control.alignment < 16 ? 16 : control.alignment;
    const size_t start = (block.used + alignment - 1) & ~(alignment - 1);
    if (start + control.bytes + guard_bytes > arena_bytes)
        fault({nullptr, 0}, "shared memory: a variable of %zu bytes does not fit", control.bytes);
    block.used = start + control.bytes + guard_bytes;
    if (control.bytes != dynamic_bytes) memset(block.arena + start, 0xff, control.bytes);
    return block.arena + start;
}

extern "C" __attribute__((visibility("hidden"))) void* __emutls_get_address(Control* control)
{
    Block& block = *worker->running->block;
    const uintptr_t number = number_of(control);
    if (block.variables.size() <= number) block.variables.resize(number + 1);
    SharedVariable& variable = block.variables[number];
    if (!variable.start) variable = {place_variable(block, *control), control->bytes};
    return variable.start;
}

static size_t static_bytes() { return 0; }

#else

// The traditional model of thread_local in shared libraries: the library's variables form one image, and the
// code asks for the address of an offset in it. The image is placed at the start of the block's memory.
struct Position {
    unsigned long module, offset;
};

extern "C" __attribute__((visibility("hidden"))) void* __tls_get_addr(Position* position)
{ return worker->running->block->arena + shared_start + position->offset; }

struct Image {
    const void* inside;
    size_t bytes;
};

static int find_image(struct dl_phdr_info* info, size_t, void* found)
{
    Image& image = *static_cast<Image*>(found);
    bool ours = false;
    size_t bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        const char* start = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
        if (segment.p_type == PT_LOAD && image.inside >= start && image.inside < start + segment.p_memsz)
            ours = true;
        if (segment.p_type == PT_TLS) bytes = segment.p_memsz;
    }
    if (ours) image.bytes = bytes;
    return ours;
}

static Image own_image = {reinterpret_cast<const void*>(&find_image), 0};
static pthread_once_t own_image_found = PTHREAD_ONCE_INIT;

static size_t static_bytes()
{
    pthread_once(&own_image_found, [] { dl_iterate_phdr(find_image, &own_image); });
    return own_image.bytes;
}

#endif

// Poisons what the block may use; of the dynamic array, only as many bytes as it was launched with.
void start_shared_memory(Block& block)
{
    const Request& request = *worker->launch->request;
    block.variables.clear();
    block.dynamic = nullptr;
    block.used = shared_start + static_bytes();
    if (request.dynamic) {
        Thread asking; // the place is found as a kernel finds it
        asking.block = &block;
        worker->running = &asking;
        block.dynamic = static_cast<char*>(request.dynamic());
        worker->running = nullptr;
    }
    char *end = block.arena + block.used + guard_bytes, *middle = block.dynamic ? block.dynamic : end;
    memset(block.arena, 0xff, size_t(middle - block.arena));
    if (!block.dynamic) return;
    memset(middle, 0xff, request.shared_bytes + guard_bytes);
    middle += dynamic_bytes;
    if (middle < end) memset(middle, 0xff, size_t(end - middle));
}

// Is all of it inside of a variable, as far as the variables are known?
bool is_allocated(const Block& block, const char* pointer, size_t bytes)
{
    const char* dynamic_end = block.dynamic + worker->launch->request->shared_bytes;
    if (block.dynamic && pointer >= block.dynamic && pointer < block.dynamic + dynamic_bytes)
        return pointer + bytes <= dynamic_end;
    for (const SharedVariable& variable : block.variables)
        if (variable.start && pointer >= variable.start && pointer + bytes <= variable.start + variable.bytes)
            return true;
    return block.variables.empty() && pointer >= block.arena + shared_start &&
           pointer + bytes <= block.arena + block.used;
}

static bool in_arena(const Block& block, const void* pointer)
{ return pointer >= block.arena && pointer < block.arena + arena_bytes; }

void end_shared_memory(Block& block)
{
    const Launch& launch = *worker->launch;
    uint64_t bytes = launch.request->shared_bytes + static_bytes();
    for (const SharedVariable& variable : block.variables) bytes += variable.bytes;
    if (block.dynamic) bytes -= dynamic_bytes;
    uint64_t most = worker->launch->shared_bytes;
    while (bytes > most && !worker->launch->shared_bytes.compare_exchange_weak(most, bytes)) {}
}

const char* describe_shared(const Block& block, const char* pointer, char* buffer, size_t size)
{
    snprintf(buffer, size, "shared address 0x%zx of block (%u, %u, %u)", size_t(pointer - block.arena),
             block.index.x, block.index.y, block.index.z);
    return buffer;
}

bool is_shared(const void* pointer)
{
    for (const Block& block : worker->running->block->group->blocks)
        if (in_arena(block, pointer)) return true;
    return false;
}

uint32_t to_shared_address(const void* pointer, Place at)
{
    const Block& own = *worker->running->block;
    for (const Block& block : own.group->blocks) {
        if (!in_arena(block, pointer)) continue;
        const uint32_t offset = uint32_t(static_cast<const char*>(pointer) - block.arena);
        return &block == &own ? offset : offset | (block.rank + 1) << 24;
    }
    fault(at, "the pointer %p does not point to shared memory", pointer);
}

// Bits 24 and up: 0 for the block's own memory, else 1 + the rank of a block of the cluster.
void* from_shared_address(uint32_t address, size_t bytes, Place at)
{
    Block& own = *worker->running->block;
    const unsigned rank = address >> 24 ? (address >> 24) - 1 : own.rank;
    if (rank >= own.group->blocks.size())
        fault(at, "shared address 0x%x: the cluster has no block %u", address, rank);
    Block& block = own.group->blocks[rank];
    const uint32_t offset = address & 0xffffff;
    if (!is_allocated(block, block.arena + offset, bytes))
        fault(at, "shared address 0x%x (%zu bytes) is outside of shared memory", offset, bytes);
    return block.arena + offset;
}

} // namespace tilegen_emulator
