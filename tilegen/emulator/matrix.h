// The matrix engines: mma.sync, MFMA, WMMA, and ldmatrix and stmatrix. The functions themselves are in
// instruction_calls.h, generated from the table in tilegen/instructions.py.
#pragma once
#include "collectives.h"

namespace tilegen_emulator {

enum class Element : int { float16, bfloat16, e4m3, e5m2, tfloat32, float32, float64, int8, uint8, int32, int4, uint4 };

// One matrix as the lanes hold it: place[lane * elements + index] = row * columns + column.
struct Operand {
    Element element;
    int rows, columns, elements, bytes; // elements of a lane, and their bytes
    const uint16_t* place;
};

struct MatrixInstruction {
    const char* name;
    int lanes;
    Operand a, b, c;
};

// C += A * B by the whole warp; each lane passes its own registers.
void multiply(const MatrixInstruction& instruction, const void* a, const void* b, void* c, Place at);

void load_matrices(int count, bool transposed, const void* row, unsigned* registers, Place at);
void store_matrices(int count, bool transposed, void* row, const unsigned* registers, Place at);

inline void* shared_pointer(const void* pointer, Place) { return const_cast<void*>(pointer); }
inline void* shared_pointer(uint32_t address, Place at) { return from_shared_address(address, 16, at); }

inline uint32_t shared_address(const void* pointer, TILEGEN_AT) { return to_shared_address(pointer, at); }
inline size_t __cvta_generic_to_shared(const void* pointer, TILEGEN_AT)
{ return to_shared_address(pointer, at); }
inline void* __cvta_shared_to_generic(size_t address, TILEGEN_AT)
{ return from_shared_address(uint32_t(address), 1, at); }

// `row` is a pointer or a 32-bit shared address.
#define TILEGEN_MATRIX_MOVES(COUNT)                                                                          \
    template <class Row> inline void ldmatrix_x##COUNT(unsigned* registers, Row row, TILEGEN_AT)             \
    { load_matrices(COUNT, false, shared_pointer(row, at), registers, at); }                                 \
    template <class Row>                                                                                     \
    inline void ldmatrix_x##COUNT##_transposed(unsigned* registers, Row row, TILEGEN_AT)                     \
    { load_matrices(COUNT, true, shared_pointer(row, at), registers, at); }                                  \
    template <bool TRANSPOSED = false, class Row>                                                            \
    inline void stmatrix_x##COUNT(Row row, const unsigned* registers, TILEGEN_AT)                            \
    { store_matrices(COUNT, TRANSPOSED, shared_pointer(row, at), registers, at); }                           \
    template <class Row>                                                                                     \
    inline void stmatrix_x##COUNT##_transposed(Row row, const unsigned* registers, TILEGEN_AT)               \
    { store_matrices(COUNT, true, shared_pointer(row, at), registers, at); }
TILEGEN_MATRIX_MOVES(1)
TILEGEN_MATRIX_MOVES(2)
TILEGEN_MATRIX_MOVES(4)
#undef TILEGEN_MATRIX_MOVES

template <class Row>
inline void stmatrix_x4(Row row, unsigned r0, unsigned r1, unsigned r2, unsigned r3, TILEGEN_AT)
{
    const unsigned registers[4] = {r0, r1, r2, r3};
    store_matrices(4, false, shared_pointer(row, at), registers, at);
}

} // namespace tilegen_emulator
