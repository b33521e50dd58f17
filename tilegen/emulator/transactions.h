// Inside the runtime: mbarriers, the tensor copies that complete on them, and textures.
#pragma once
#include "scheduler.h"

namespace tilegen_emulator {

// What a launcher writes into the 128 bytes of a tensor map (tilegen/runtime/emulator.py, TensorMap).
struct TensorMapBytes {
    char* base;
    uint64_t strides[4]; // in bytes, of dimensions 1 and up
    uint32_t dims[5];    // innermost first
    uint16_t box[5];
    uint16_t swizzle; // 0, 32, 64 or 128 bytes
    uint8_t rank, element_bytes;
    uint16_t magic;
    uint64_t array_bytes;
};
constexpr uint16_t tensor_map_magic = 0x746d;
static_assert(sizeof(TensorMapBytes) <= 128, "a tensor map has 128 bytes");

// A texture object points to this (tilegen/runtime/emulator_records.py, TextureBytes).
struct TextureBytes {
    char* base;
    uint64_t array_bytes;
    uint32_t extent[3]; // x, y, z
    float border[4];    // integers in these bits where the texture gives integers
    uint8_t rank, channels, kind, element_bytes; // kind: TexelKind
    uint8_t linear, normalized, read_normalized;
    uint8_t address[3];
    uint16_t magic;
};
constexpr uint16_t texture_magic = 0x7478;

struct TensorCopy {
    TensorMapBytes map;
    char* shared;
    int at_element[5];
    Place at;
    unsigned thread; // who issued it, for the checker
};

// An arrival when all products that a thread of `block` had issued until then are complete.
struct TensorCommit {
    Block* block;
    uint64_t issued;
    unsigned thread;
    Clock* clock;
    Place at;
};

struct Barrier {
    void* word;
    unsigned count, pending;
    uint64_t phase;
    long bytes; // of copies still to come in this phase
    Clock* clock;
    std::vector<TensorCopy> copies; // issued, not yet carried out
    std::vector<TensorCommit> commits;
    Place initialised;
};

Barrier& find_barrier(void* word, Place at);
void carry_out_commit(const TensorCommit& commit);
void perform_load(const TensorCopy& copy);
void perform_store(const TensorCopy& copy);
uint32_t swizzled(uint32_t address, unsigned swizzle_bytes);
size_t box_bytes(const TensorMapBytes& map);
void complete_bytes(Barrier& barrier, long bytes);

} // namespace tilegen_emulator
