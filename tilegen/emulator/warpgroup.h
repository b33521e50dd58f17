// wgmma: products of a warpgroup, with operands in shared memory, that run until they are waited for.
#pragma once
#include "tensor_copy.h"

namespace tilegen_emulator {

struct WarpgroupProduct {
    Element element;               // of A and B
    int columns;                   // N
    bool transpose_a, transpose_b; // the operand is MN-major
    bool a_in_registers, accumulate;
    uint64_t a, b; // shared-memory descriptors
    unsigned a_registers[4];
    void* sums;
    int sum_count;
    bool by_rows = false; // the sums of the upper row stand before those of the lower one
};

void issue_product(const WarpgroupProduct& product, Place at);
void commit_products(Place at);
void wait_for_products(int groups_pending, Place at);
void fence_products(Place at);

template <class T> struct ElementOf;
template <> struct ElementOf<float16> {
    static constexpr Element value = Element::float16;
};
template <> struct ElementOf<bfloat16> {
    static constexpr Element value = Element::bfloat16;
};
template <> struct ElementOf<float8_e4m3> {
    static constexpr Element value = Element::e4m3;
};
template <> struct ElementOf<float8_e5m2> {
    static constexpr Element value = Element::e5m2;
};
template <> struct ElementOf<float> {
    static constexpr Element value = Element::tfloat32;
};
template <> struct ElementOf<signed char> {
    static constexpr Element value = Element::int8;
};
template <> struct ElementOf<unsigned char> {
    static constexpr Element value = Element::uint8;
};

// d (64 x 2R, R sums a lane) = a * b, plus d where `accumulate`. T: the type of A and B, float for tf32.
template <class T, bool TRANSPOSE_A = false, bool TRANSPOSE_B = false, class Sum, int R>
inline void wgmma_ss(Sum (&d)[R], uint64_t a, uint64_t b, int accumulate, TILEGEN_AT)
{
    issue_product(
        {ElementOf<T>::value, 2 * R, TRANSPOSE_A, TRANSPOSE_B, false, accumulate != 0, a, b, {}, d, R}, at);
}

// The same with A in registers: in each warp the fragment of mma_m16n8k16, or of the same bytes of other
// types.
template <class T, bool TRANSPOSE_B = false, class Sum, int R>
inline void wgmma_rs(Sum (&d)[R], const unsigned* a, uint64_t b, int accumulate, TILEGEN_AT)
{
    issue_product({ElementOf<T>::value,
                   2 * R,
                   false,
                   TRANSPOSE_B,
                   true,
                   accumulate != 0,
                   0,
                   b,
                   {a[0], a[1], a[2], a[3]},
                   d,
                   R},
                  at);
}

// The same with the sums of a lane's two rows in neighbouring arrays of COLUMNS / 4.
template <class T, int COLUMNS, bool TRANSPOSE_A, bool TRANSPOSE_B, class Sum>
inline void wgmma_rows(Sum* low, Sum* high, uint64_t a, uint64_t b, int accumulate, TILEGEN_AT)
{
    if (high != low + COLUMNS / 4) fault(at, "the two rows of a wgmma do not stand side by side");
    issue_product({ElementOf<T>::value, COLUMNS, TRANSPOSE_A, TRANSPOSE_B, false, accumulate != 0, a, b, {}, low,
                   COLUMNS / 2, true},
                  at);
}

template <class T, int COLUMNS, bool TRANSPOSE_B, class Sum>
inline void wgmma_rows_registers(Sum* low, Sum* high, const unsigned* a, uint64_t b, int accumulate, TILEGEN_AT)
{
    if (high != low + COLUMNS / 4) fault(at, "the two rows of a wgmma do not stand side by side");
    issue_product({ElementOf<T>::value, COLUMNS, false, TRANSPOSE_B, true, accumulate != 0, 0, b,
                   {a[0], a[1], a[2], a[3]}, low, COLUMNS / 2, true},
                  at);
}

inline void wgmma_fence(TILEGEN_AT) { fence_products(at); }
inline void wgmma_commit(TILEGEN_AT) { commit_products(at); }
template <int PENDING> inline void wgmma_wait(TILEGEN_AT) { wait_for_products(PENDING, at); }

} // namespace tilegen_emulator
