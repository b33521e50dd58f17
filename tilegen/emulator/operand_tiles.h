// Operands of wgmma and tcgen05.mma: tiles in shared memory that a 64-bit descriptor finds.
#pragma once
#include "matrix.h"
#include "transactions.h"

namespace tilegen_emulator {

inline int bytes_of(Element element)
{
    return element == Element::float16 || element == Element::bfloat16 ? 2
           : element == Element::tfloat32                              ? 4
                                                                       : 1;
}

struct Descriptor {
    uint32_t start, leading, stride;
    unsigned swizzle;
};

inline Descriptor decode(uint64_t bits)
{
    static const unsigned swizzles[] = {0, 128, 64, 32};
    return {uint32_t(bits & 0x3fff) << 4, uint32_t(bits >> 16 & 0x3fff) << 4,
            uint32_t(bits >> 32 & 0x3fff) << 4, swizzles[bits >> 62]};
}

// The shared address of element (row, depth): row counts along M or N, depth along K.
inline uint32_t element_address(const Descriptor& d, int row, int depth, int bytes, bool mn_major)
{
    if (!mn_major) {
        const uint32_t byte = uint32_t(depth * bytes);
        if (!d.swizzle)
            return d.start + uint32_t(row / 8) * d.stride + byte / 16 * d.leading + uint32_t(row % 8) * 16 +
                   byte % 16;
        return swizzled(d.start + uint32_t(row / 8) * d.stride + uint32_t(row % 8) * d.swizzle + byte,
                        d.swizzle);
    }
    if (!d.swizzle)
        return d.start + uint32_t(row / 8) * d.stride + uint32_t(depth / 8) * d.leading +
               uint32_t(depth % 8) * 16 + uint32_t(row % 8 * bytes);
    const int across = int(d.swizzle) / bytes; // elements of a row of the swizzle atom
    return swizzled(d.start + uint32_t(row / across) * d.leading + uint32_t(depth / 8) * d.stride +
                        uint32_t(depth % 8) * d.swizzle + uint32_t(row % across * bytes),
                    d.swizzle);
}

inline float value_of(const void* data, Element element)
{
    uint32_t word = 0;
    memcpy(&word, data, size_t(bytes_of(element)));
    switch (element) {
    case Element::float16: return Format16::decode(word);
    case Element::bfloat16: return FormatBrain::decode(word);
    case Element::e4m3: return FormatE4M3::decode(word);
    case Element::e5m2: return FormatE5M2::decode(word);
    case Element::tfloat32: return float_of(word & 0xffffe000u);
    case Element::int8: return float(int8_t(word));
    default: return float(word);
    }
}

// One operand of a product as a warp reads it: `rows` from `first_row` on, `depth` along K.
struct OperandTile {
    uint64_t descriptor;
    int first_row, rows, depth;
    Element element;
    bool mn_major;
    Place at;
    uint32_t window = 0; // of the block of a cluster whose memory it is; 0: of the one that runs
};

// Calls visit(row, k, pointer) for each 16 bytes, which lie along K or, of an MN-major operand, along rows.
template <class Visit> inline void for_each_run(const OperandTile& tile, Visit visit)
{
    const Descriptor descriptor = decode(tile.descriptor);
    const int bytes = bytes_of(tile.element), run = 16 / bytes;
    const int row_step = tile.mn_major ? run : 1, k_step = tile.mn_major ? 1 : run;
    for (int row = 0; row < tile.rows; row += row_step)
        for (int k = 0; k < tile.depth; k += k_step) {
            const uint32_t address =
                element_address(descriptor, tile.first_row + row, k, bytes, tile.mn_major);
            visit(row, k, static_cast<const char*>(from_shared_address(address | tile.window, 16, tile.at)));
        }
}

// The operand as floats (8-bit integers are exact in them): element (row, k) at row * row_step + k * k_step.
inline void fetch(float* matrix, int row_step, int k_step, const OperandTile& tile)
{
    const int bytes = bytes_of(tile.element), step = tile.mn_major ? row_step : k_step;
    for_each_run(tile, [=](int row, int k, const char* data) {
        float* to = matrix + row * row_step + k * k_step;
        for (int e = 0; e < 16 / bytes; ++e) to[e * step] = value_of(data + e * bytes, tile.element);
    });
}

} // namespace tilegen_emulator
