// The checker's records: what each byte of shared and global memory was last used for.
#pragma once
#include "scheduler.h"

namespace tilegen_emulator {

struct Clock {
    int users;
    uint32_t times[];
};

// Where an access is in the program: an address in compiled code, or the call of an emulated instruction; and
// the addresses that the functions around it return to, from the inside out.
struct Site {
    uintptr_t address;
    Place at;
    const char* what;
    uintptr_t callers[callers_kept];
};

// To be called where the access is reported: inlined, so that the first frame is that of the reporter.
__attribute__((always_inline)) inline Site site_here(uintptr_t address, Place at, const char* what)
{
    Site site = {address, at, what, {}};
    const char* const stack = worker->running->stack;
    void** frame = static_cast<void**>(__builtin_frame_address(0));
    for (uintptr_t& caller : site.callers) {
        const char* place = reinterpret_cast<const char*>(frame);
        if (place < stack || place + 16 > stack + stack_bytes) break;
        caller = uintptr_t(frame[1]);
        frame = static_cast<void**>(frame[0]);
    }
    return site;
}

struct Access {
    uint32_t time, thread, site; // time 0: no access
    bool atomic, async;
};

constexpr int reads_kept = 3;

struct SharedByte {
    Access write, reads[reads_kept];
    bool written, arriving; // arriving: an asynchronous copy is still to write it
    uint16_t leaving;       // so many asynchronous operations are still to read it
};

struct GlobalByte {
    Access write, read;               // `thread` counts through the whole grid
    uint32_t write_block, read_block; // 1 + the number of the block
};

struct GlobalPage {
    GlobalByte bytes[1024];
};

struct ConflictCount {
    uint64_t instructions, steps, needed;
    uint32_t worst, bytes;
    bool write;
};

struct WarpAccesses; // conflicts.cc

struct Checker {
    std::vector<std::vector<SharedByte>> shared; // of each block
    std::vector<Site> sites;
    std::vector<uint32_t> site_slots;             // a hash table into `sites`
    std::vector<std::vector<GlobalPage*>> global; // of each array
    std::vector<ConflictCount> conflicts;         // by site
    std::vector<WarpAccesses*> warps;             // of the resident blocks
    std::vector<bool> synchronised;               // blocks that talked to others through atomics
};

enum class Kind { read, write, atomic };

void note_bank_access(Checker& checker, const Thread& thread, uint32_t site, bool write, uint32_t address,
                      size_t bytes);
void finish_bank_accesses(Checker& checker);
void report_conflicts(const Checker& checker, const Request& request, Report& report);
uint32_t site_number(Checker& checker, Site site);
void check_access(const void* pointer, size_t bytes, Kind kind, Site site, bool is_async = false);
void check_global(Checker& checker, const GuardedArray& array, size_t which, size_t offset, size_t bytes,
                  Kind kind, Site site);
[[noreturn]] void access_fault(Site site, const Site* other, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

} // namespace tilegen_emulator
