// Included before an emitted CUDA, HIP or MACA file so that it compiles as plain C++ and runs on a CPU.
#pragma once
#define TILEGEN_EMULATOR 1

#include "machine.h"
#include "language.h"
#include "types.h"
#include "collectives.h"
#include "atomics.h"
#include "device_math.h"
#include "async_copy.h"
#include "matrix.h"
#include "mbarrier.h"
#include "tensor_copy.h"
#include "warpgroup.h"
#include "tensor_memory.h"
#include "textures.h"
#include "instruction_calls.h" // generated: see generate.py

namespace tilegen_emulator {

// The emitted file's own name for an end of the kernel with an error.
inline void stop() { __trap(); }

template <class T> struct Stored {
    typedef T type;
};
template <class T> struct Stored<T&> {
    typedef T type;
};
template <class T> struct Stored<const T> {
    typedef T type;
};

template <int... I> struct Numbers {};
template <int N, int... I> struct CountTo : CountTo<N - 1, N - 1, I...> {};
template <int... I> struct CountTo<0, I...> {
    typedef Numbers<I...> type;
};

template <class... P, int... I> inline void call_with(void (*entry)(P...), void** arguments, Numbers<I...>)
{ entry(*static_cast<typename Stored<P>::type*>(arguments[I])...); }

// Calls a kernel with its arguments taken from memory, as a driver's launch function does.
template <class... P> inline void call_kernel(void (*entry)(P...), void** arguments)
{ call_with(entry, arguments, typename CountTo<int(sizeof...(P))>::type()); }

// Overloads of these names in the emitted file live beside ours; all other names of the file hide ours.
#define TILEGEN_EMULATOR_OVERLOADS                                                                           \
    using ::tilegen_emulator::min;                                                                           \
    using ::tilegen_emulator::max;                                                                           \
    using ::tilegen_emulator::abs;                                                                           \
    using ::tilegen_emulator::exp;                                                                           \
    using ::tilegen_emulator::exp2;                                                                          \
    using ::tilegen_emulator::log;                                                                           \
    using ::tilegen_emulator::sqrt;                                                                          \
    using ::tilegen_emulator::rsqrt;                                                                         \
    using ::tilegen_emulator::tanh;                                                                          \
    using ::tilegen_emulator::erf;                                                                           \
    using ::tilegen_emulator::pow;                                                                           \
    using ::tilegen_emulator::fma;                                                                           \
    using ::tilegen_emulator::fabs;                                                                          \
    using ::tilegen_emulator::floor;                                                                         \
    using ::tilegen_emulator::ceil;                                                                          \
    using ::tilegen_emulator::atomicAdd;                                                                     \
    using ::tilegen_emulator::atomicMax;                                                                     \
    using ::tilegen_emulator::atomicMin;

} // namespace tilegen_emulator

// For a debugger, which needs their types and so finds them here: the number of the running thread in its
// block, and whether it is this thread of this block.
extern "C" __attribute__((used)) unsigned tilegen_emulator_thread()
{ return ::tilegen_emulator::self().linear; }

extern "C" __attribute__((used)) int tilegen_emulator_is(unsigned block_x, unsigned block_y, unsigned block_z,
                                                         unsigned x, unsigned y, unsigned z)
{
    const uint3 block = blockIdx, thread = threadIdx;
    return block.x == block_x && block.y == block_y && block.z == block_z && thread.x == x && thread.y == y &&
           thread.z == z;
}
