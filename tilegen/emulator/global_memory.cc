// The checker for global memory: races between threads of a block, and between blocks.
#include "checker.h"

namespace tilegen_emulator {

constexpr size_t page_bytes = sizeof(GlobalPage::bytes) / sizeof(GlobalByte);

static GlobalByte& global_byte(Checker& checker, size_t which, size_t offset)
{
    std::vector<GlobalPage*>& pages = checker.global[which];
    const size_t page = offset / page_bytes;
    if (pages.size() <= page) pages.resize(page + 1);
    if (!pages[page]) pages[page] = static_cast<GlobalPage*>(calloc(1, sizeof(GlobalPage)));
    return pages[page]->bytes[offset % page_bytes];
}

static uint32_t block_number(const Thread& thread)
{
    const Identity& identity = thread.identity;
    return (identity.block_index.z * identity.grid_size.y + identity.block_index.y) * identity.grid_size.x +
           identity.block_index.x;
}

// Blocks have no order between them, except through atomics: a block that has used one may have waited.
static bool conflicts(const Thread& thread, const Checker& checker, const Access& other, uint32_t other_block,
                      bool atomic)
{
    if (!other.time || (atomic && other.atomic)) return false;
    const uint32_t block = block_number(thread);
    if (other_block - 1 == block) return !has_seen(thread, other.thread, other.time);
    return !checker.synchronised[block];
}

static void note_writer(const Thread& thread, Site site)
{
    Report& report = *worker->launch->report;
    const uint3 block = thread.identity.block_index, index = thread.identity.thread_index;
    report.writer_known = 1;
    report.writer_block[0] = block.x, report.writer_block[1] = block.y, report.writer_block[2] = block.z;
    report.writer_thread[0] = index.x, report.writer_thread[1] = index.y, report.writer_thread[2] = index.z;
    report.writer_address = library_offset(site.address);
    report.writer_line = site.at.line;
    record_calls(thread, report);
}

void check_global(Checker& checker, const GuardedArray& array, size_t which, size_t offset, size_t bytes,
                  Kind kind, Site site)
{
    Thread& thread = *worker->running;
    const uint32_t block = block_number(thread);
    const Access now = {thread.time, number_in_group(thread), site_number(checker, site),
                        kind == Kind::atomic, false};
    if (kind == Kind::atomic) checker.synchronised[block] = true;
    const Request& request = *worker->launch->request;
    if (kind != Kind::read && int(which) == request.watched && request.watched_byte - offset < bytes)
        note_writer(thread, site);
    for (size_t i = offset; i < offset + bytes; ++i) {
        GlobalByte& byte = global_byte(checker, which, i);
        const bool with_write = conflicts(thread, checker, byte.write, byte.write_block, now.atomic);
        const bool with_read =
            kind != Kind::read && conflicts(thread, checker, byte.read, byte.read_block, now.atomic);
        if (with_write || with_read) {
            const Access& other = with_write ? byte.write : byte.read;
            const uint32_t other_block = (with_write ? byte.write_block : byte.read_block) - 1;
            const dim3 grid = thread.identity.grid_size, size = thread.identity.block_size;
            const unsigned linear = other.thread % thread.block->count;
            const Site before = checker.sites[other.site];
            access_fault(site, &before,
                         "data race: this thread %s byte %zu of argument %zu (%zu bytes), which thread (%u, "
                         "%u, %u) of "
                         "block (%u, %u, %u) %s, and nothing orders the two",
                         kind == Kind::read ? "reads" : "writes", i, which, array.bytes, linear % size.x,
                         linear / size.x % size.y, linear / (size.x * size.y), other_block % grid.x,
                         other_block / grid.x % grid.y, other_block / (grid.x * grid.y),
                         with_write ? "wrote" : "read");
        }
        if (kind == Kind::read) byte.read = now, byte.read_block = block + 1;
        else byte.write = now, byte.write_block = block + 1;
    }
}

// ---- The checker's life: one for a launch, whose shared part starts anew with every group ---------
void start_checker(Group& group)
{
    const Request& request = *worker->launch->request;
    if (!worker->checker) {
        worker->checker = new Checker;
        worker->checker->global.resize(worker->launch->arrays.size());
        worker->checker->synchronised.resize(size_t(request.grid[0]) * request.grid[1] * request.grid[2]);
    }
    group.checker = worker->checker;
    group.checker->shared.assign(group.blocks.size(), {});
}

void end_checker(Group& group)
{
    finish_bank_accesses(*group.checker);
    for (Block& block : group.blocks)
        for (Thread& thread : block.threads) {
            forget(thread.seen);
            forget(thread.fenced_seen);
        }
}

void delete_checker()
{
    if (!worker->checker) return;
    finish_bank_accesses(*worker->checker);
    report_conflicts(*worker->checker, *worker->launch->request, *worker->launch->report);
    for (std::vector<GlobalPage*>& pages : worker->checker->global)
        for (GlobalPage* page : pages) free(page);
    delete worker->checker;
    worker->checker = nullptr;
}

} // namespace tilegen_emulator
