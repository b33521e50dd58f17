// check=True: every load and store of the kernel is watched. The compiler instruments them as for the thread
// sanitizer (see instrumentation.cc); the rules are ours.
#include "checker.h"

#include <stdarg.h>

namespace tilegen_emulator {

// ---- Sites ---------------------------------------------------------------------------------------
static size_t hash(const Site& site)
{
    size_t mixed = site.address ^ size_t(site.at.line) * 0x9e3779b1u;
    for (uintptr_t caller : site.callers) mixed = mixed * 31 + caller;
    return mixed;
}

static bool same(const Site& a, const Site& b)
{
    return a.address == b.address && a.at.line == b.at.line && a.what == b.what &&
           !memcmp(a.callers, b.callers, sizeof a.callers);
}

uint32_t site_number(Checker& checker, Site site)
{
    if (checker.site_slots.size() < 2 * checker.sites.size() + 64) {
        checker.site_slots.assign(4 * checker.sites.size() + 256, 0);
        for (uint32_t i = 0; i < checker.sites.size(); ++i) {
            size_t slot = hash(checker.sites[i]) % checker.site_slots.size();
            while (checker.site_slots[slot]) slot = (slot + 1) % checker.site_slots.size();
            checker.site_slots[slot] = i + 1;
        }
    }
    size_t slot = hash(site) % checker.site_slots.size();
    for (; checker.site_slots[slot]; slot = (slot + 1) % checker.site_slots.size())
        if (same(checker.sites[checker.site_slots[slot] - 1], site)) return checker.site_slots[slot] - 1;
    checker.sites.push_back(site);
    checker.site_slots[slot] = uint32_t(checker.sites.size());
    return checker.site_slots[slot] - 1;
}

void access_fault(Site site, const Site* other, const char* format, ...)
{
    char message[1500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    Report& report = *worker->launch->report;
    const bool first = !worker->launch->failed.load();
    record_fault(worker->running, site.at, message);
    if (first) {
        report.address = library_offset(site.address);
        if (other) {
            report.other_address = library_offset(other->address);
            for (int i = 0; i < callers_kept; ++i)
                report.other_callers[i] = other->callers[i] ? library_offset(other->callers[i] - 1) : 0;
            report.other_line = other->at.line;
            snprintf(report.other_file, sizeof report.other_file, "%s", other->at.file ? other->at.file : "");
        }
    }
    give_up();
    abort();
}

static const char* verb(Kind kind)
{ return kind == Kind::read ? "reads" : kind == Kind::write ? "writes" : "updates"; }

// ---- Shared memory -------------------------------------------------------------------------------
[[noreturn]] static void race(const Thread& thread, const char* pointer, Kind kind, Site site,
                              const Access& other, const char* did)
{
    Checker& checker = *thread.block->group->checker;
    const Block& home = *thread.block;
    const unsigned linear = other.thread % home.count, across = thread.identity.block_size.x,
                   down = thread.identity.block_size.y;
    for (const Block& block : home.group->blocks) {
        if (pointer < block.arena || pointer >= block.arena + arena_bytes) continue;
        char where[200];
        describe_shared(block, pointer, where, sizeof where);
        const Site before = checker.sites[other.site];
        access_fault(
            site, &before,
            "data race: this thread %s %s, which thread (%u, %u, %u)%s %s, and no barrier orders the two",
            verb(kind), where, linear % across, linear / across % down, linear / (across * down),
            other.thread / home.count == home.rank ? "" : " of another block", did);
    }
    abort();
}

// An access has to come after the last write of its byte.
static void after_the_write(const Thread& thread, const SharedByte& byte, const char* pointer, Kind kind,
                            Site site, const Access& now)
{
    if (byte.write.time && !(now.atomic && byte.write.atomic) &&
        !has_seen(thread, byte.write.thread, byte.write.time))
        race(thread, pointer, kind, site, byte.write, "wrote");
}

static void check_read(const Thread& thread, SharedByte& byte, const char* pointer, Kind kind, Site site,
                       const Access& now)
{
    after_the_write(thread, byte, pointer, kind, site, now);
    int slot = -1;
    for (int i = 0; i < reads_kept; ++i)
        if (!byte.reads[i].time || has_seen(thread, byte.reads[i].thread, byte.reads[i].time)) slot = i;
    byte.reads[slot >= 0 ? slot : int(now.thread % reads_kept)] = now;
}

static void check_write(const Thread& thread, SharedByte& byte, const char* pointer, Kind kind, Site site,
                        const Access& now)
{
    after_the_write(thread, byte, pointer, kind, site, now);
    for (const Access& read : byte.reads)
        if (read.time && !(now.atomic && read.atomic) && !has_seen(thread, read.thread, read.time))
            race(thread, pointer, kind, site, read, "read");
    byte.write = now;
}

[[noreturn]] static void still_in_flight(const Block& block, const SharedByte& byte, size_t offset, Kind kind,
                                         Site site)
{
    const Access& copy = byte.arriving ? byte.write : byte.reads[0];
    const Site before = block.group->checker->sites[copy.site];
    char where[200];
    access_fault(site, &before, "%s %s, which %s of thread %u still %s: wait for it first", verb(kind),
                 describe_shared(block, block.arena + offset, where, sizeof where), before.what,
                 copy.thread % block.count, byte.arriving ? "writes" : "reads");
}

static void check_shared(Thread& thread, Block& block, const char* pointer, size_t bytes, Kind kind,
                         Site site, bool is_async)
{
    Checker& checker = *block.group->checker;
    char where[200];
    if (!is_allocated(block, pointer, bytes))
        access_fault(site, nullptr, "out-of-bounds access: %s %zu bytes at %s", verb(kind), bytes,
                     describe_shared(block, pointer, where, sizeof where));
    std::vector<SharedByte>& shadow = checker.shared[block.rank];
    const size_t start = size_t(pointer - block.arena);
    if (shadow.size() < start + bytes) shadow.resize(start + bytes);
    const Access now = {thread.time, number_in_group(thread), site_number(checker, site),
                        kind == Kind::atomic, false};
    // wgmma and TMA have their own way to the banks
    if (!is_async) note_bank_access(checker, thread, now.site, kind != Kind::read, uint32_t(start), bytes);
    for (size_t i = start; i < start + bytes; ++i) {
        SharedByte& byte = shadow[i];
        if (byte.arriving || (byte.leaving && kind != Kind::read))
            still_in_flight(block, byte, i, kind, site);
        if (kind != Kind::write && !byte.written)
            access_fault(site, nullptr, "%s %s, which nobody has written", verb(kind),
                         describe_shared(block, block.arena + i, where, sizeof where));
        if (kind == Kind::read) check_read(thread, byte, block.arena + i, kind, site, now);
        else check_write(thread, byte, block.arena + i, kind, site, now);
        byte.written = true;
    }
}

// ---- All accesses --------------------------------------------------------------------------------
void check_access(const void* address, size_t bytes, Kind kind, Site site, bool is_async)
{
    Thread& thread = *worker->running;
    const char* pointer = static_cast<const char*>(address);
    if (pointer >= thread.stack && pointer < thread.stack + stack_bytes) return;
    for (Block& block : thread.block->group->blocks)
        if (pointer >= block.arena && pointer < block.arena + arena_bytes)
            return check_shared(thread, block, pointer, bytes, kind, site, is_async);
    const Launch& launch = *worker->launch;
    for (size_t i = 0; i < launch.arrays.size(); ++i) {
        const GuardedArray& array = launch.arrays[i];
        if (!array.mapping || pointer < array.mapping || pointer >= array.mapping + array.mapped) continue;
        if (pointer < array.data || pointer + bytes > array.data + array.bytes) {
            char where[200];
            describe_address(launch, &thread, pointer < array.data ? pointer : pointer + bytes - 1, where,
                             sizeof where);
            access_fault(site, nullptr, "out-of-bounds access: %s %zu bytes, %s", verb(kind), bytes, where);
        }
        return check_global(*thread.block->group->checker, array, i, size_t(pointer - array.data), bytes,
                            kind, site);
    }
}

static void touch(const void* pointer, size_t bytes, size_t alignment, Kind kind, const char* what, Place at)
{
    if (uintptr_t(pointer) % alignment)
        fault(at, "misaligned access: %s %s %zu bytes at an address that is not a multiple of %zu", what,
              verb(kind), bytes, alignment);
    if (worker->launch->request->check) check_access(pointer, bytes, kind, site_here(0, at, what));
}

void touch_read(const void* pointer, size_t bytes, size_t alignment, const char* what, Place at)
{ touch(pointer, bytes, alignment, Kind::read, what, at); }

void touch_write(void* pointer, size_t bytes, size_t alignment, const char* what, Place at)
{ touch(pointer, bytes, alignment, Kind::write, what, at); }

void check_atomic(void* pointer, size_t bytes, Place at)
{ touch(pointer, bytes, bytes, Kind::atomic, "an atomic", at); }

// ---- Asynchronous copies --------------------------------------------------------------------------
static SharedByte* shadow_of(const void* pointer)
{
    Group& group = *worker->running->block->group;
    for (Block& block : group.blocks)
        if (pointer >= block.arena && pointer < block.arena + arena_bytes)
            return &group.checker
                        ->shared[block.rank][size_t(static_cast<const char*>(pointer) - block.arena)];
    return nullptr;
}

void begin_async_write(void* pointer, size_t bytes, Place at)
{
    if (!worker->launch->request->check) return;
    check_access(pointer, bytes, Kind::write, site_here(0, at, "an asynchronous copy"), bytes > 16);
    SharedByte* shadow = shadow_of(pointer);
    for (size_t i = 0; i < bytes; ++i) shadow[i].arriving = true;
}

void end_async_write(void* pointer, size_t bytes)
{
    if (!worker->launch->request->check) return;
    const Thread& thread = *worker->running;
    SharedByte* shadow = shadow_of(pointer);
    for (size_t i = 0; i < bytes; ++i) {
        shadow[i].arriving = false;
        shadow[i].write.time = thread.time;
        shadow[i].write.thread = number_in_group(thread);
        shadow[i].write.async = true;
    }
}

void begin_async_read(const void* pointer, size_t bytes, const char* what, Place at)
{
    check_async_read(pointer, bytes, what, at);
    if (!worker->launch->request->check) return;
    const Thread& thread = *worker->running;
    SharedByte* shadow = shadow_of(pointer);
    const uint32_t site = site_number(*thread.block->group->checker, site_here(0, at, what));
    for (size_t i = 0; i < bytes; ++i) {
        ++shadow[i].leaving;
        shadow[i].reads[0] = {thread.time, number_in_group(thread), site, false, true};
    }
}

void end_async_read(const void* pointer, size_t bytes)
{
    if (!worker->launch->request->check) return;
    SharedByte* shadow = shadow_of(pointer);
    for (size_t i = 0; i < bytes; ++i) --shadow[i].leaving;
}

// A read by TMA or wgmma: ordinary stores become visible to them only through a fence of the storing thread.
void check_async_read(const void* pointer, size_t bytes, const char* what, Place at)
{
    if (!worker->launch->request->check) return;
    const Site site = site_here(0, at, what);
    check_access(pointer, bytes, Kind::read, site, true);
    Group& group = *worker->running->block->group;
    for (Block& block : group.blocks) {
        if (pointer < block.arena || pointer >= block.arena + arena_bytes) continue;
        const SharedByte* shadow =
            &group.checker->shared[block.rank][size_t(static_cast<const char*>(pointer) - block.arena)];
        for (size_t i = 0; i < bytes; ++i) {
            const Access& write = shadow[i].write;
            const Thread& writer =
                group.blocks[write.thread / block.count].threads[write.thread % block.count];
            if (write.async || writer.fenced >= write.time) continue;
            const Site before = group.checker->sites[write.site];
            access_fault(site, &before,
                         "%s reads shared memory that thread %u wrote with ordinary stores and no "
                         "fence_async_proxy after it",
                         what, writer.identity.linear);
        }
    }
}

} // namespace tilegen_emulator
