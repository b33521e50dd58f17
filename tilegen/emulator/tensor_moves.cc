// tcgen05.ld and tcgen05.st: between registers and tensor memory, when their thread waits for them. Until then the
// registers and columns are poisoned.
#include "tensor_state.h"

#include "tensor_memory.h"

namespace tilegen_emulator {

struct TensorMove {
    uint32_t* registers;
    int count;
    unsigned address;
};

// The first column, after all lanes have agreed, and the lanes are those of this warp.
static unsigned agreed(void* const* requests, const char* what, Place at)
{
    const TensorMove& first = *static_cast<TensorMove*>(requests[0]);
    for (unsigned lane = 1; lane < 32; ++lane)
        if (static_cast<TensorMove*>(requests[lane])->address != first.address)
            fault(at, "%s: lane %u has address 0x%x, lane 0 has 0x%x", what, lane,
                  static_cast<TensorMove*>(requests[lane])->address, first.address);
    const unsigned own = worker->running->identity.warp_number % 4 * 32;
    if (first.address >> 16 != own)
        fault(at, "%s from lane %u of tensor memory on: warp %u reaches lanes %u to %u alone", what,
              first.address >> 16, worker->running->identity.warp_number, own, own + 31);
    return first.address & 0xffff;
}

template <bool LOAD> static void perform_tensor_move(void* const* requests, uint64_t)
{
    Thread& running = *worker->running;
    const char* const what = LOAD ? "tcgen05.ld" : "tcgen05.st";
    const Place at = running.at;
    TensorMemory& memory = memory_of(running);
    const unsigned first = agreed(requests, what, at), quarter = running.identity.warp_number % 4;
    const unsigned count = unsigned(static_cast<TensorMove*>(requests[0])->count);
    check_columns(memory, first, count, what, at);
    for (unsigned i = 0; i < count; ++i) {
        check_idle(memory, first + i, what, at);
        note_move(running, memory.columns[first + i], quarter, LOAD, first + i, at);
        ++(LOAD ? memory.columns[first + i].loads : memory.columns[first + i].stores)[quarter];
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        const TensorMove& move = *static_cast<TensorMove*>(requests[lane]);
        Thread& thread = running.block->threads[running.identity.warp_number * 32 + lane];
        if (!thread.moves) thread.moves = new TensorMoves();
        QueuedMove queued = {LOAD, first, move.registers, {}, count, at};
        if (!LOAD) queued.values.assign(move.registers, move.registers + count);
        thread.moves->queue.push_back(queued);
        if (LOAD) memset(move.registers, 0xff, count * 4);
        else
            for (unsigned i = 0; i < count; ++i) memory.columns[first + i].lanes[quarter * 32 + lane] = ~0u;
    }
}

static void move_tensor(bool load, uint32_t* registers, int count, unsigned address, Place at)
{
    const char* const what = load ? "tcgen05.ld" : "tcgen05.st";
    whole_warp(what, 32, at);
    TensorMove move = {registers, count, address};
    meet(all_lanes(), &move, load ? perform_tensor_move<true> : perform_tensor_move<false>, what, at);
}

void load_tensor(uint32_t* registers, int count, unsigned address, Place at)
{ move_tensor(true, registers, count, address, at); }

void store_tensor(const uint32_t* registers, int count, unsigned address, Place at)
{ move_tensor(false, const_cast<uint32_t*>(registers), count, address, at); }

struct TensorWait {
    bool loads;
};

static void perform_wait(void* const* requests, uint64_t)
{
    Thread& running = *worker->running;
    const bool loads = static_cast<TensorWait*>(requests[0])->loads;
    TensorMemory& memory = memory_of(running);
    const unsigned quarter = running.identity.warp_number % 4;
    for (unsigned lane = 0; lane < 32; ++lane) {
        Thread& thread = running.block->threads[running.identity.warp_number * 32 + lane];
        if (!thread.moves) continue;
        std::vector<QueuedMove> later;
        for (QueuedMove& move : thread.moves->queue) {
            if (move.load != loads) {
                later.push_back(move);
                continue;
            }
            for (unsigned i = 0; i < move.count; ++i) {
                Column& column = memory.columns[move.first + i];
                uint32_t& cell = column.lanes[quarter * 32 + lane];
                if (loads) move.registers[i] = cell;
                else cell = move.values[i];
                if (lane == 0) end_move(thread, column, quarter, loads);
            }
        }
        thread.moves->queue.swap(later);
    }
}

void wait_for_tensor(bool loads, Place at)
{
    const char* const what = loads ? "tcgen05.wait::ld" : "tcgen05.wait::st";
    whole_warp(what, 32, at);
    TensorWait wait = {loads};
    meet(all_lanes(), &wait, perform_wait, what, at);
}

void finish_tensor_moves(Thread& thread)
{
    if (thread.moves && !thread.moves->queue.empty())
        fault(thread.moves->queue[0].at, "the kernel ended without waiting for this tcgen05.%s",
              thread.moves->queue[0].load ? "ld" : "st");
    delete thread.moves;
    thread.moves = nullptr;
}

} // namespace tilegen_emulator
