// Boxes of tensors. Loads take effect when their mbarrier is waited for, stores when their group is.
#include "groups.h"
#include "transactions.h"

#include "tensor_copy.h"

namespace tilegen_emulator {

// 16-byte chunks are permuted by the row they are in: address bits 4.. are XORed with bits 7.. .
uint32_t swizzled(uint32_t address, unsigned swizzle_bytes)
{
    const uint32_t rows = swizzle_bytes / 16; // 8, 4, 2, or none
    return rows > 1 ? address ^ (address >> 7 & (rows - 1)) << 4 : address;
}

size_t box_bytes(const TensorMapBytes& map)
{
    size_t bytes = map.element_bytes;
    for (int d = 0; d < map.rank; ++d) bytes *= map.box[d];
    return bytes;
}

// Calls visit(global pointer or null, shared pointer, bytes) for the 16-byte chunks of a box.
template <class Visit> static void for_each_chunk(const TensorCopy& copy, Visit visit)
{
    const TensorMapBytes& map = copy.map;
    const size_t row_bytes = size_t(map.box[0]) * map.element_bytes, rows = box_bytes(map) / row_bytes;
    const uint32_t base = uint32_t(to_shared_address(copy.shared, copy.at) & 0xffffff);
    const size_t step = row_bytes % 16 ? map.element_bytes : 16;
    for (size_t row = 0; row < rows; ++row) {
        const char* line = map.base;
        bool inside = true;
        size_t rest = row;
        for (int d = 1; d < map.rank; ++d) {
            const long index = copy.at_element[d] + long(rest % map.box[d]);
            rest /= map.box[d];
            inside &= index >= 0 && index < long(map.dims[d]);
            line += index * long(map.strides[d - 1]);
        }
        for (size_t byte = 0; byte < row_bytes; byte += step) {
            const uint32_t linear = base + uint32_t(row * row_bytes + byte);
            char* shared = copy.shared + (long(swizzled(linear, map.swizzle)) - long(base));
            for (size_t part = 0; part < step; part += map.element_bytes) {
                const long x = copy.at_element[0] + long((byte + part) / map.element_bytes);
                const bool valid = inside && x >= 0 && x < long(map.dims[0]);
                visit(valid ? const_cast<char*>(line) + x * map.element_bytes : nullptr, shared + part);
            }
        }
    }
}

void perform_load(const TensorCopy& copy)
{
    const size_t bytes = copy.map.element_bytes;
    for_each_chunk(copy, [=](const char* global, char* shared) {
        if (global) memcpy(shared, global, bytes);
        else memset(shared, 0, bytes);
    });
    end_async_write(copy.shared, box_bytes(copy.map));
}

void perform_store(const TensorCopy& copy)
{
    const size_t bytes = copy.map.element_bytes;
    for_each_chunk(copy, [=](char* global, const char* shared) {
        if (!global) return;
        touch_write(global, bytes, 1, "tma_store", copy.at);
        memcpy(global, shared, bytes);
    });
    end_async_read(copy.shared, box_bytes(copy.map));
}

static TensorCopy new_copy(const void* map, void* shared, const int* coordinates, int rank, const char* what,
                           Place at)
{
    TensorCopy copy = {};
    memcpy(&copy.map, map, sizeof copy.map);
    const TensorMapBytes& bytes = copy.map;
    if (bytes.magic != tensor_map_magic) fault(at, "%s: this is not a tensor map", what);
    if (bytes.rank != rank)
        fault(at, "%s with %d coordinates, for a tensor map of rank %d", what, rank, bytes.rank);
    if (!is_shared(shared)) fault(at, "%s: the box is not in shared memory", what);
    const size_t row_bytes = size_t(bytes.box[0]) * bytes.element_bytes;
    const unsigned alignment = bytes.swizzle ? bytes.swizzle * 8u : 128u,
                   address = to_shared_address(shared, at) & 0xffffff;
    if (address % 128 || (bytes.swizzle && address % alignment))
        fault(at, "misaligned access: %s with a %u-byte swizzle at shared address 0x%x, not a multiple of %u",
              what, bytes.swizzle, address, alignment);
    if (row_bytes % 16 || (bytes.swizzle && row_bytes != bytes.swizzle))
        fault(at, "%s: rows of %zu bytes, with a %u-byte swizzle", what, row_bytes, bytes.swizzle);
    copy.shared = static_cast<char*>(shared);
    for (int d = 0; d < rank; ++d) copy.at_element[d] = coordinates[d];
    copy.at = at;
    copy.thread = worker->running->identity.linear;
    return copy;
}

void issue_load(void* shared, const void* map, void* word, const int* coordinates, int rank, unsigned mask,
                Place at)
{
    TensorCopy copy = new_copy(map, shared, coordinates, rank, "tma_load", at);
    const size_t bytes = box_bytes(copy.map);
    for (unsigned target = 0; target < self().cluster_size; ++target) {
        if (mask ? !(mask >> target & 1) : target != self().cluster_rank) continue;
        copy.shared = static_cast<char*>(in_block_of_cluster(shared, target, at));
        Barrier& barrier = find_barrier(in_block_of_cluster(word, target, at), at);
        begin_async_write(copy.shared, bytes, at);
        memset(copy.shared, 0xff, bytes);
        barrier.copies.push_back(copy);
    }
}

// ---- Stores --------------------------------------------------------------------------------------
struct StoreQueue {
    std::vector<TensorCopy> copies;
    Groups groups;
};

static StoreQueue& stores_of(Thread& thread)
{
    if (!thread.stores) thread.stores = new StoreQueue;
    return *thread.stores;
}

void issue_store(const void* map, const void* shared, const int* coordinates, int rank, Place at)
{
    TensorCopy copy = new_copy(map, const_cast<void*>(shared), coordinates, rank, "tma_store", at);
    begin_async_read(copy.shared, box_bytes(copy.map), "tma_store", at);
    stores_of(*worker->running).copies.push_back(copy);
}

void commit_stores(Place)
{
    StoreQueue& queue = stores_of(*worker->running);
    queue.groups.commit(queue.copies.size());
}

void wait_for_stores(int groups_pending, Place)
{
    StoreQueue& queue = stores_of(*worker->running);
    const size_t count = queue.groups.complete(size_t(groups_pending));
    for (size_t i = 0; i < count; ++i) perform_store(queue.copies[i]);
    queue.copies.erase(queue.copies.begin(), queue.copies.begin() + long(count));
}

void finish_stores(Thread& thread)
{
    if (!thread.stores) return;
    commit_stores({nullptr, 0});
    wait_for_stores(0, {nullptr, 0});
    delete thread.stores;
    thread.stores = nullptr;
}

} // namespace tilegen_emulator
