// Tensor memory: its allocation, and the products of tcgen05, which run when somebody waits for an mbarrier that their
// commit arrives at.
#include "operand_tiles.h"
#include "tensor_state.h"

#include "tensor_memory.h"

namespace tilegen_emulator {

// ---- Allocation ----------------------------------------------------------------------------------
TensorMemory& memory_of(Thread& thread)
{
    Block& block = *thread.block;
    if (!block.tensor) block.tensor = new TensorMemory();
    return *block.tensor;
}

static Allocation* allocation_of(TensorMemory& memory, unsigned column)
{
    for (Allocation& allocation : memory.allocations)
        if (column >= allocation.first && column < allocation.first + allocation.columns) return &allocation;
    return nullptr;
}

// The lanes and columns that an instruction touches have to belong to the block.
void check_columns(TensorMemory& memory, unsigned first, unsigned columns, const char* what, Place at)
{
    for (unsigned column = first; column < first + columns; ++column)
        if (!allocation_of(memory, column))
            fault(at, "%s uses columns %u to %u of tensor memory, and column %u is not allocated", what, first,
                  first + columns - 1, column);
}

struct AllocationRequest {
    unsigned* place;
    unsigned columns;
};

static void perform_allocation(void* const* requests, uint64_t)
{
    const AllocationRequest& request = *static_cast<AllocationRequest*>(requests[0]);
    const Place at = worker->running->at;
    TensorMemory& memory = memory_of(*worker->running);
    if (memory.relinquished) fault(at, "tcgen05.alloc after the block has relinquished its permit");
    for (unsigned first = tensor_columns - request.columns;; first -= request.columns) {
        bool is_free = true;
        for (unsigned i = 0; i < request.columns; ++i) is_free &= !allocation_of(memory, first + i);
        if (is_free) {
            memory.allocations.push_back({first, request.columns, at});
            for (unsigned i = 0; i < request.columns; ++i) memory.columns[first + i].clear();
            *request.place = first;
            return;
        }
        if (first < request.columns)
            fault(at, "tcgen05.alloc of %u columns: the block holds too many of %u already, and would wait forever",
                  request.columns, tensor_columns);
    }
}

void allocate_columns(unsigned* place, unsigned columns, Place at)
{
    if (columns < 32 || columns > tensor_columns || (columns & (columns - 1)))
        fault(at, "tcgen05.alloc of %u columns: a power of two from 32 to %u is needed", columns, tensor_columns);
    whole_warp("tcgen05.alloc", 32, at);
    if (!is_shared(place)) fault(at, "tcgen05.alloc: the address goes to shared memory");
    if (self().lane == 0) touch_write(place, 4, 4, "tcgen05.alloc", at);
    AllocationRequest request = {place, columns};
    meet(all_lanes(), &request, perform_allocation, "tcgen05.alloc", at);
}

static void perform_release(void* const* requests, uint64_t)
{
    const unsigned* request = static_cast<unsigned*>(requests[0]);
    const Place at = worker->running->at;
    TensorMemory& memory = memory_of(*worker->running);
    Allocation* found = allocation_of(memory, request[0] & 0xffff);
    if (!found || found->first != request[0] || found->columns != request[1])
        fault(at, "tcgen05.dealloc of %u columns from address 0x%x on, which were not allocated like this", request[1],
              request[0]);
    for (unsigned i = 0; i < found->columns; ++i) check_idle(memory, found->first + i, "tcgen05.dealloc", at);
    memory.allocations.erase(memory.allocations.begin() + (found - memory.allocations.data()));
}

void free_columns(unsigned address, unsigned columns, Place at)
{
    whole_warp("tcgen05.dealloc", 32, at);
    unsigned request[2] = {address, columns};
    meet(all_lanes(), request, perform_release, "tcgen05.dealloc", at);
}

void relinquish_allocation(Place at)
{
    whole_warp("tcgen05.relinquish_alloc_permit", 32, at);
    memory_of(*worker->running).relinquished = true;
}

void finish_tensor_memory(Block& block)
{
    TensorMemory* memory = block.tensor;
    if (!memory) return;
    if (!memory->products.empty())
        fault(memory->products[0].at, "the kernel ended without waiting for this tcgen05.mma");
    if (!memory->allocations.empty())
        fault(memory->allocations[0].at, "the kernel ended without tcgen05.dealloc of these %u columns",
              memory->allocations[0].columns);
    forget_tensor_memory(block);
}

void forget_tensor_memory(Block& block)
{
    delete block.tensor;
    block.tensor = nullptr;
}

// ---- Products ------------------------------------------------------------------------------------
static Element element_of(ProductKind kind, unsigned code, Place at)
{
    if (kind == ProductKind::f16 && code < 2) return code ? Element::bfloat16 : Element::float16;
    if (kind == ProductKind::tf32 && code == 2) return Element::tfloat32;
    if (kind == ProductKind::f8f6f4 && code < 2) return code ? Element::e5m2 : Element::e4m3;
    if (kind == ProductKind::i8 && code < 2) return code ? Element::int8 : Element::uint8;
    fault(at, "tcgen05.mma: code %u of an operand's type is not emulated for its kind", code);
}

static TensorProduct decoded(ProductKind kind, unsigned sums, uint64_t a, uint64_t b, unsigned bits, Place at)
{
    TensorProduct product = {};
    product.sums = sums, product.a = a, product.b = b, product.at = at;
    product.a_element = element_of(kind, bits >> 7 & 7, at);
    product.b_element = element_of(kind, bits >> 10 & 7, at);
    product.turn_a = bits >> 15 & 1, product.turn_b = bits >> 16 & 1;
    product.columns = int(bits >> 17 & 63) * 8, product.rows = int(bits >> 24 & 31) * 16;
    product.integers = kind == ProductKind::i8;
    if (bits & 0xe080604f)
        fault(at, "tcgen05.mma: instruction descriptor 0x%x asks for what is not emulated, or sets a reserved bit",
              bits);
    if (int(bits >> 4 & 3) != (product.integers ? 2 : 1))
        fault(at, "tcgen05.mma: the sums are to be 32 bits wide here, not of code %u", bits >> 4 & 3);
    if (product.rows != 128 || product.columns < 16 || product.columns > 256 || product.columns % 16)
        fault(at, "tcgen05.mma of %d x %d: 128 rows and a multiple of 16 columns up to 256 are emulated",
              product.rows, product.columns);
    if ((product.turn_a || product.turn_b) && kind != ProductKind::f16)
        fault(at, "tcgen05.mma: only rows of 16-bit operands may run across the depth here");
    for (const uint64_t descriptor : {a, b})
        if ((descriptor >> 46 & 7) != 1 || (descriptor >> 49 & 0xfff) || (descriptor >> 61 & 1))
            fault(at, "tcgen05.mma: descriptor 0x%llx is none of sm_100, or has a base offset or a swizzle that is "
                  "not emulated", (unsigned long long)descriptor);
    return product;
}

static OperandTile tile_of(const TensorProduct& product, bool left)
{
    const Element element = left ? product.a_element : product.b_element;
    return {left ? product.a : product.b, 0, left ? product.rows : product.columns, 32 / bytes_of(element), element,
            left ? product.turn_a : product.turn_b, product.at, product.window};
}

static void mark_operands(const TensorProduct& product, bool begin)
{
    if (!worker->launch->request->check) return;
    for (const bool left : {true, false})
        for_each_run(tile_of(product, left), [&](int, int, const char* data) {
            if (begin) begin_async_read(data, 16, "tcgen05.mma", product.at);
            else end_async_read(data, 16);
        });
}

void issue_tensor_product(ProductKind kind, unsigned sums, uint64_t a, uint64_t b, unsigned instruction,
                          bool accumulate, Place at)
{
    Thread& thread = *worker->running;
    TensorMemory& memory = memory_of(thread);
    TensorProduct product = decoded(kind, sums, a, b, instruction, at);
    if (sums >> 16) fault(at, "tcgen05.mma: sums of 128 rows start in lane 0, not in %u", sums >> 16);
    check_columns(memory, sums, unsigned(product.columns), "tcgen05.mma", at);
    product.accumulate = accumulate;
    product.thread = number_in_group(thread);
    product.number = memory.issued++;
    product.window = (thread.block->rank + 1) << 24;
    for (int i = 0; i < product.columns; ++i) {
        Column& column = memory.columns[sums + unsigned(i)];
        note_product(thread, column, sums + unsigned(i), at);
        ++column.products;
        column.last = at;
    }
    mark_operands(product, true);
    memory.products.push_back(product);
}

template <class Sum> static void multiply_tile(TensorMemory& memory, const TensorProduct& product)
{
    const OperandTile left = tile_of(product, true), right = tile_of(product, false);
    const int depth = left.depth, n = product.columns;
    std::vector<float> a(size_t(128 * depth)), b(size_t(depth * n));
    std::vector<Sum> sums(size_t(128 * n));
    fetch(a.data(), depth, 1, left);
    fetch(b.data(), 1, n, right);
    if (product.accumulate)
        for (int j = 0; j < n; ++j)
            for (int row = 0; row < 128; ++row)
                memcpy(&sums[size_t(row * n + j)], &memory.columns[product.sums + unsigned(j)].lanes[row], 4);
    for (int row = 0; row < 128; ++row)
        for (int k = 0; k < depth; ++k) {
            const Sum x = Sum(a[size_t(row * depth + k)]);
            Sum* const line = &sums[size_t(row * n)];
            for (int j = 0; j < n; ++j) line[j] += x * Sum(b[size_t(k * n + j)]);
        }
    for (int j = 0; j < n; ++j)
        for (int row = 0; row < 128; ++row)
            memcpy(&memory.columns[product.sums + unsigned(j)].lanes[row], &sums[size_t(row * n + j)], 4);
}

static void perform_tensor_product(TensorMemory& memory, const TensorProduct& product)
{
    if (product.integers) multiply_tile<int>(memory, product);
    else multiply_tile<float>(memory, product);
    mark_operands(product, false);
    for (int j = 0; j < product.columns; ++j) --memory.columns[product.sums + unsigned(j)].products;
}

// ---- Commits -------------------------------------------------------------------------------------
void commit_tensor_products(void* word, unsigned mask, Place at)
{
    Thread& thread = *worker->running;
    TensorMemory& memory = memory_of(thread);
    for (unsigned target = 0; target < self().cluster_size; ++target) {
        if (mask ? !(mask >> target & 1) : target != self().cluster_rank) continue;
        Barrier& barrier = find_barrier(in_block_of_cluster(word, target, at), at);
        TensorCommit commit = {thread.block, memory.issued, number_in_group(thread), nullptr, at};
        publish(thread, commit.clock);
        barrier.commits.push_back(commit);
    }
}

void carry_out_commit(const TensorCommit& commit)
{
    TensorMemory* memory = commit.block->tensor;
    if (!memory) return;
    std::vector<TensorProduct> due, later;
    for (const TensorProduct& product : memory->products)
        (product.thread == commit.thread && product.number < commit.issued ? due : later).push_back(product);
    memory->products.swap(later);
    for (const TensorProduct& product : due) perform_tensor_product(*memory, product);
}

} // namespace tilegen_emulator
