// Inside the runtime: a block's tensor memory, and what is on its way to and from it.
#pragma once
#include "matrix.h"
#include "transactions.h"

namespace tilegen_emulator {

constexpr unsigned tensor_columns = 512, tensor_lanes = 128, quarters = 4; // a quarter of the lanes for each warp

struct TensorAccess {
    uint32_t time, thread; // time 0: none
    Place at;
};

struct Column {
    uint32_t lanes[tensor_lanes];
    int products;                       // that are still to write it
    int loads[quarters], stores[quarters]; // that nobody has waited for yet
    Place last;                         // the last product
    TensorAccess product, read[quarters], written[quarters]; // checker: by whom, when
    void clear()
    {
        *this = {};
        memset(lanes, 0xff, sizeof lanes);
    }
};

struct Allocation {
    unsigned first, columns;
    Place at;
};

struct TensorProduct {
    unsigned sums;
    uint64_t a, b;
    Element a_element, b_element;
    bool turn_a, turn_b, integers, accumulate;
    int rows, columns;
    unsigned thread, window; // who issued it, and where the block's shared memory lies
    uint64_t number;
    Place at;
};

struct TensorMemory {
    Column columns[tensor_columns];
    std::vector<Allocation> allocations;
    std::vector<TensorProduct> products; // issued, not yet carried out
    uint64_t issued = 0;
    bool relinquished = false;
};

struct QueuedMove {
    bool load;
    unsigned first;
    uint32_t* registers;
    std::vector<uint32_t> values;
    unsigned count;
    Place at;
};

struct TensorMoves {
    std::vector<QueuedMove> queue;
};

// tensor_memory.cc
TensorMemory& memory_of(Thread& thread);
void check_columns(TensorMemory& memory, unsigned first, unsigned columns, const char* what, Place at);
// tensor_checks.cc: whether an access may touch a column now, and what is noted of it
void check_idle(const TensorMemory& memory, unsigned column, const char* what, Place at);
void note_product(const Thread& thread, Column& column, unsigned number, Place at);
void note_move(const Thread& thread, const Column& column, unsigned quarter, bool load, unsigned number, Place at);
void end_move(const Thread& thread, Column& column, unsigned quarter, bool load);

} // namespace tilegen_emulator
