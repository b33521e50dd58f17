// wgmma. Each warp of the group owns 16 rows of the sums, so each warp works by itself, when it waits: until
// then the sums are poisoned, and the operands in shared memory are not yet read.
#include "groups.h"
#include "operand_tiles.h"

#include "warpgroup.h"

namespace tilegen_emulator {

struct SavedSums {
    void* sums;
    int count;
    bool restored;
    std::vector<uint32_t> values;
};

struct ProductQueue {
    std::vector<WarpgroupProduct> products;
    std::vector<Place> places;
    Groups groups;
    std::vector<SavedSums> saved; // of the sums that are in flight, what they were
};

static ProductQueue& queue_of(Thread& thread)
{
    if (!thread.products) thread.products = new ProductQueue;
    return *thread.products;
}

static bool in_flight(const ProductQueue& queue, const void* sums)
{
    for (const SavedSums& saved : queue.saved)
        if (saved.sums == sums) return true;
    return false;
}

void fence_products(Place) {}

void commit_products(Place)
{
    ProductQueue& queue = queue_of(*worker->running);
    queue.groups.commit(queue.products.size());
}

// ---- Operands ------------------------------------------------------------------------------------
static OperandTile a_tile(const WarpgroupProduct& product, Place at)
{
    const int warp = int(worker->running->identity.warp_number % 4);
    return {product.a,       16 * warp,           16, 32 / bytes_of(product.element),
            product.element, product.transpose_a, at};
}

static OperandTile b_tile(const WarpgroupProduct& product, Place at)
{
    return {product.b,           0, product.columns, 32 / bytes_of(product.element), product.element,
            product.transpose_b, at};
}

// For the checker: from the issue to the end, the operands must not be written.
static void mark_operands(const WarpgroupProduct& product, bool begin, Place at)
{
    if (!worker->launch->request->check) return;
    auto mark = [=](int, int, const char* data) {
        if (begin) begin_async_read(data, 16, "wgmma", at);
        else end_async_read(data, 16);
    };
    if (!product.a_in_registers) for_each_run(a_tile(product, at), mark);
    for_each_run(b_tile(product, at), mark);
}

static void registers_to_matrix(float* matrix, const WarpgroupProduct& product, unsigned lane, int depth)
{
    const int bytes = bytes_of(product.element), packed = 4 / bytes;
    for (int r = 0; r < 4; ++r)
        for (int e = 0; e < packed; ++e) {
            const int row = int(lane) / 4 + 8 * (r % 2),
                      k = int(lane) % 4 * packed + e + 4 * packed * (r / 2);
            matrix[row * depth + k] =
                value_of(reinterpret_cast<const char*>(&product.a_registers[r]) + e * bytes, product.element);
        }
}

void issue_product(const WarpgroupProduct& product, Place at)
{
    Thread& thread = *worker->running;
    if (product.columns % 8 || product.columns > 256) fault(at, "wgmma with N = %d", product.columns);
    if ((product.transpose_a || product.transpose_b) && bytes_of(product.element) != 2)
        fault(at, "wgmma: only 16-bit operands can be MN-major");
    ProductQueue& queue = queue_of(thread);
    if (!in_flight(queue, product.sums)) {
        SavedSums saved = {product.sums, product.sum_count, false, {}};
        const uint32_t* values = static_cast<const uint32_t*>(product.sums);
        saved.values.assign(values, values + product.sum_count);
        queue.saved.push_back(saved);
        memset(product.sums, 0xff, size_t(product.sum_count) * 4);
    }
    if (thread.identity.lane == 0) mark_operands(product, true, at);
    queue.products.push_back(product);
    queue.places.push_back(at);
}

// ---- The product of one warp ---------------------------------------------------------------------
template <class Sum> static void multiply_rows(ProductQueue* const* lanes, size_t index)
{
    const WarpgroupProduct& product = lanes[0]->products[index];
    const Place at = lanes[0]->places[index];
    const int depth = 32 / bytes_of(product.element), n = product.columns;
    float a[16 * 32], b[32 * 256];
    Sum sums[16 * 256];
    if (product.a_in_registers)
        for (unsigned lane = 0; lane < 32; ++lane)
            registers_to_matrix(a, lanes[lane]->products[index], lane, depth);
    else fetch(a, depth, 1, a_tile(product, at));
    fetch(b, 1, n, b_tile(product, at));
    mark_operands(product, false, at);
    auto place = [n, rows = product.by_rows](unsigned lane, int i) {
        if (rows) i = i % (n / 4) / 2 * 4 + i / (n / 4) * 2 + i % 2;
        return (int(lane) / 4 + 8 * (i % 4 / 2)) * n + 8 * (i / 4) + int(lane) % 4 * 2 + i % 2;
    };
    for (unsigned lane = 0; lane < 32; ++lane) {
        const Sum* from = static_cast<const Sum*>(lanes[lane]->products[index].sums);
        for (int i = 0; i < product.sum_count; ++i)
            sums[place(lane, i)] = product.accumulate ? from[i] : Sum(0);
    }
    for (int row = 0; row < 16; ++row)
        for (int k = 0; k < depth; ++k) {
            const Sum x = Sum(a[row * depth + k]);
            for (int j = 0; j < n; ++j) sums[row * n + j] += x * Sum(b[k * n + j]);
        }
    for (unsigned lane = 0; lane < 32; ++lane) {
        Sum* to = static_cast<Sum*>(lanes[lane]->products[index].sums);
        for (int i = 0; i < product.sum_count; ++i) to[i] = sums[place(lane, i)];
    }
}

static void restore_sums(ProductQueue& queue, size_t count)
{
    std::vector<SavedSums> still;
    for (SavedSums& saved : queue.saved) {
        bool done = false, later = false;
        for (size_t i = 0; i < queue.products.size(); ++i)
            (i < count ? done : later) |= queue.products[i].sums == saved.sums;
        if (done) memcpy(saved.sums, saved.values.data(), size_t(saved.count) * 4);
        saved.restored = done;
        if (!done || later) still.push_back(saved);
    }
    queue.saved.swap(still);
}

// Sums that a later group goes on with are in flight again: their new values are kept, and poisoned.
static void poison_again(ProductQueue& queue)
{
    for (SavedSums& saved : queue.saved) {
        if (!saved.restored) continue;
        memcpy(saved.values.data(), saved.sums, size_t(saved.count) * 4);
        memset(saved.sums, 0xff, size_t(saved.count) * 4);
    }
}

struct ProductWait {
    ProductQueue* queue;
    size_t count;
};

static void perform_products(void* const* requests, uint64_t)
{
    ProductQueue* lanes[32];
    const size_t count = static_cast<ProductWait*>(requests[0])->count;
    for (unsigned lane = 0; lane < 32; ++lane) {
        lanes[lane] = static_cast<ProductWait*>(requests[lane])->queue;
        if (lanes[lane]->products.size() < count)
            fault(worker->running->at, "lane %u issued fewer wgmma than lane 0", lane);
        restore_sums(*lanes[lane], count);
    }
    for (size_t i = 0; i < count; ++i) {
        const Element element = lanes[0]->products[i].element;
        if (element == Element::int8 || element == Element::uint8) multiply_rows<int>(lanes, i);
        else multiply_rows<float>(lanes, i);
    }
    for (ProductQueue* queue : lanes) {
        queue->products.erase(queue->products.begin(), queue->products.begin() + long(count));
        queue->places.erase(queue->places.begin(), queue->places.begin() + long(count));
        poison_again(*queue);
    }
}

void wait_for_products(int groups_pending, Place at)
{
    Thread& thread = *worker->running;
    ProductQueue& queue = queue_of(thread);
    ProductWait wait = {&queue, queue.groups.complete(size_t(groups_pending))};
    whole_warp("wgmma_wait", 32, at);
    meet(all_lanes(), &wait, perform_products, "wgmma_wait", at);
}

void finish_products(Thread& thread)
{
    if (thread.products && !thread.products->products.empty())
        fault(thread.products->places[0], "the kernel ended without waiting for this wgmma");
    delete thread.products;
    thread.products = nullptr;
}

} // namespace tilegen_emulator
