// Asynchronous operations of a thread in committed groups: cp.async, TMA stores and wgmma count them alike.
#pragma once
#include <cstddef>
#include <vector>

namespace tilegen_emulator {

struct Groups {
    std::vector<size_t> ends; // how many operations lie before the end of each group

    // Everything issued so far, `operations` in all, belongs to a group.
    void commit(size_t operations) { ends.push_back(operations); }

    // Takes away all groups but the last `pending`; gives how many operations were in them.
    size_t complete(size_t pending)
    {
        if (ends.size() <= pending) return 0;
        const size_t groups = ends.size() - pending, count = ends[groups - 1];
        ends.erase(ends.begin(), ends.begin() + long(groups));
        for (size_t& end : ends) end -= count;
        return count;
    }
};

} // namespace tilegen_emulator
