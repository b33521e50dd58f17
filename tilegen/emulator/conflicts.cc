// Bank conflicts. The lanes of a warp come to an access one after another; the n-th time that each of them
// comes to a place in the code counts as one instruction of the warp. 32 banks of 4 bytes.
#include "checker.h"

namespace tilegen_emulator {

constexpr int banks = 32, bank_bytes = 4;
constexpr size_t most_open = 512; // instructions for which lanes are still to come

struct OpenAccess {
    uint32_t number; // the how-many-eth time
    unsigned bytes;
    uint64_t lanes;
    uint32_t addresses[64];
};

struct SiteInWarp {
    uint32_t site;
    bool write;
    uint32_t times[64]; // how often each lane was here
    std::vector<OpenAccess> open;
};

struct WarpAccesses {
    std::vector<SiteInWarp> sites;
};

// The most different words that fall into one bank, for the lanes from `first` on.
static int ways(const OpenAccess& access, unsigned first, unsigned count)
{
    uint32_t words[banks][64];
    int used[banks] = {}, worst = 0;
    for (unsigned lane = first; lane < first + count; ++lane) {
        if (!(access.lanes >> lane & 1)) continue;
        const uint32_t start = access.addresses[lane] / bank_bytes,
                       end = (access.addresses[lane] + access.bytes - 1) / bank_bytes;
        for (uint32_t word = start; word <= end; ++word) {
            const uint32_t bank = word % banks;
            bool known = false;
            for (int i = 0; i < used[bank]; ++i) known |= words[bank][i] == word;
            if (!known && used[bank] < 64) words[bank][used[bank]++] = word;
            if (used[bank] > worst) worst = used[bank];
        }
    }
    return worst;
}

// Wide accesses go in several steps: half of the warp for 8 bytes a lane, a quarter for 16.
static void count_access(Checker& checker, const SiteInWarp& place, const OpenAccess& access)
{
    const unsigned step = access.bytes <= 4 ? 32 : access.bytes <= 8 ? 16 : 8;
    if (checker.conflicts.size() <= place.site) checker.conflicts.resize(place.site + 1);
    ConflictCount& count = checker.conflicts[place.site];
    count.bytes = access.bytes;
    count.write = place.write;
    ++count.instructions;
    for (unsigned first = 0; first < 64; first += step) {
        const int needed = ways(access, first, step);
        if (!needed) continue;
        ++count.steps;
        count.needed += uint64_t(needed);
        if (needed > int(count.worst)) count.worst = uint32_t(needed);
    }
}

static SiteInWarp& site_in_warp(WarpAccesses& warp, uint32_t site, bool write)
{
    for (SiteInWarp& place : warp.sites)
        if (place.site == site) return place;
    warp.sites.push_back({site, write, {}, {}});
    return warp.sites.back();
}

void note_bank_access(Checker& checker, const Thread& thread, uint32_t site, bool write, uint32_t address,
                      size_t bytes)
{
    const size_t number = thread.block->rank * 64 + thread.identity.warp_number;
    if (checker.warps.size() <= number) checker.warps.resize(number + 1);
    if (!checker.warps[number]) checker.warps[number] = new WarpAccesses;
    SiteInWarp& place = site_in_warp(*checker.warps[number], site, write);
    const unsigned lane = thread.identity.lane;
    const uint32_t time = place.times[lane]++;
    size_t i = 0;
    while (i < place.open.size() && place.open[i].number != time) ++i;
    if (i == place.open.size()) place.open.push_back({time, unsigned(bytes), 0, {}});
    OpenAccess& access = place.open[i];
    access.lanes |= uint64_t(1) << lane;
    access.addresses[lane] = address;
    const bool complete = access.lanes == (thread.warp->members & ~thread.warp->exited);
    if (!complete && place.open.size() < most_open) return;
    if (!complete) i = 0; // the oldest: nobody else seems to come
    count_access(checker, place, place.open[i]);
    place.open.erase(place.open.begin() + long(i));
}

void finish_bank_accesses(Checker& checker)
{
    for (WarpAccesses*& warp : checker.warps) {
        if (!warp) continue;
        for (const SiteInWarp& place : warp->sites)
            for (const OpenAccess& access : place.open) count_access(checker, place, access);
        delete warp;
        warp = nullptr;
    }
}

void report_conflicts(const Checker& checker, const Request& request, Report& report)
{
    for (size_t i = 0; i < checker.conflicts.size() && report.conflict_count < request.conflict_room; ++i) {
        const ConflictCount& count = checker.conflicts[i];
        if (!count.instructions) continue;
        const Site& site = checker.sites[i];
        ConflictRow& row = request.conflicts[report.conflict_count++];
        row = {library_offset(site.address),
               count.instructions,
               count.steps,
               count.needed,
               {},
               count.worst,
               count.bytes,
               count.write,
               site.at.line,
               {}};
        for (int caller = 0; caller < callers_kept; ++caller)
            row.callers[caller] = site.callers[caller] ? library_offset(site.callers[caller] - 1) : 0;
        snprintf(row.file, sizeof row.file, "%s", site.at.file ? site.at.file : "");
    }
}

} // namespace tilegen_emulator
