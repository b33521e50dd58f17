// Global memory: every array argument is copied between inaccessible pages for the time of the launch, so
// that an access past its end stops the thread instead of spoiling the host's memory.
#include "transactions.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tilegen_emulator {

constexpr size_t fence_bytes = size_t(64) << 20; // address space only, never touched

static GuardedArray guard(void* data, size_t bytes, bool writable)
{
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    const size_t padded = (bytes + 15) & ~size_t(15); // ends at a page, starts at a multiple of 16
    const size_t body = (padded + page - 1) / page * page, total = body + 2 * fence_bytes;
    void* mapping = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char* start = static_cast<char*>(mapping) + fence_bytes;
    if (mapping == MAP_FAILED || (body && mprotect(start, body, PROT_READ | PROT_WRITE))) {
        fprintf(stderr, "tilegen emulator: out of memory for an array of %zu bytes\n", bytes);
        abort();
    }
    GuardedArray array = {start + body - padded, static_cast<char*>(mapping), bytes, total, data, writable};
    if (bytes) memcpy(array.data, data, bytes);
    return array;
}

// The guarded copy of an array; the same array passed twice has one copy.
static char* guarded(Launch& launch, void* data, size_t bytes, bool writable)
{
    for (GuardedArray& array : launch.arrays)
        if (array.mapping && array.original == data && array.bytes == bytes) {
            array.writable |= writable;
            return array.data;
        }
    launch.arrays.back() = guard(data, bytes, writable);
    return launch.arrays.back().data;
}

// A tensor map holds the address of an array: the kernel gets a map that holds that of the guarded copy.
static void* guarded_map(Launch& launch, const Argument& argument)
{
    TensorMapBytes* map = static_cast<TensorMapBytes*>(aligned_alloc(128, 128));
    memcpy(map, argument.data, 128);
    map->base = guarded(launch, map->base, map->array_bytes, true);
    launch.maps.push_back(map);
    return map;
}

// The same for a texture; its object is a pointer to what describes it.
static void* guarded_texture(Launch& launch, const Argument& argument)
{
    TextureBytes* texture = static_cast<TextureBytes*>(malloc(sizeof(TextureBytes)));
    memcpy(texture, argument.data, sizeof *texture);
    texture->base = guarded(launch, texture->base, texture->array_bytes, false);
    launch.maps.push_back(texture);
    return texture;
}

void guard_arrays(Launch& launch)
{
    const Request& request = *launch.request;
    launch.pointers.resize(size_t(request.argument_count));
    for (int i = 0; i < request.argument_count; ++i) {
        const Argument& argument = request.arguments[i];
        launch.arrays.push_back({}); // one for each argument, so that its number is known
        void* value = argument.data;
        if (argument.kind == 3) value = guarded_map(launch, argument);
        if (argument.kind == 1 || argument.kind == 2 || argument.kind == 4) {
            launch.pointers[size_t(i)] =
                argument.kind == 4 ? guarded_texture(launch, argument)
                                   : guarded(launch, argument.data, argument.bytes, argument.kind == 1);
            value = &launch.pointers[size_t(i)];
        }
        launch.arguments.push_back(value);
    }
}

void release_arrays(Launch& launch)
{
    for (GuardedArray& array : launch.arrays) {
        if (!array.mapping) continue;
        if (array.writable && array.bytes) memcpy(array.original, array.data, array.bytes);
        munmap(array.mapping, array.mapped);
        array.mapping = nullptr;
    }
    for (void* map : launch.maps) free(map);
}

// "4 bytes after the end of argument 2", or the address alone.
void describe_address(const Launch& launch, const Thread* thread, const void* p, char* buffer, size_t size)
{
    const char* pointer = static_cast<const char*>(p);
    for (size_t i = 0; i < launch.arrays.size(); ++i) {
        const GuardedArray& array = launch.arrays[i];
        if (!array.mapping || pointer < array.mapping || pointer >= array.mapping + array.mapped) continue;
        if (pointer < array.data)
            snprintf(buffer, size, "%zu bytes before argument %zu", size_t(array.data - pointer), i);
        else if (pointer >= array.data + array.bytes)
            snprintf(buffer, size, "%zu bytes after the end of argument %zu, which has %zu bytes",
                     size_t(pointer - array.data - array.bytes), i, array.bytes);
        else snprintf(buffer, size, "byte %zu of argument %zu", size_t(pointer - array.data), i);
        return;
    }
    if (thread && pointer >= thread->stack && pointer < thread->stack + stack_bytes)
        snprintf(buffer, size, "the end of the thread's stack of %zu KB: its local arrays are too large",
                 stack_bytes >> 10);
    else snprintf(buffer, size, "address %p, which is in no array", p);
}

} // namespace tilegen_emulator
