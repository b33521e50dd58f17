// Textures: arrays that are read through a texture object, with addressing modes and filters.
#pragma once
#include "collectives.h"

struct __hip_texture; // HIP's objects are pointers to a type that nobody sees

namespace tilegen_emulator {

typedef unsigned long long cudaTextureObject_t, mcTextureObject_t;
typedef ::__hip_texture* hipTextureObject_t;

enum class TexelKind : uint8_t { floating, signed_integer, unsigned_integer };

// What a fetch returns: the type of its channels and how many there are.
struct TexelType {
    TexelKind kind;
    uint8_t bytes, channels; // bytes of one channel
};

union Texel {
    float floats[4];
    int32_t integers[4];
};

// A fetch at `coordinates` (`dimensions` of them), or of element `index` of linear memory.
Texel sample_texture(uint64_t object, int dimensions, const float* coordinates, TexelType type,
                     const char* what, Place at);
Texel fetch_texture(uint64_t object, int index, TexelType type, const char* what, Place at);

inline uint64_t texture_bits(uint64_t object) { return object; }
inline uint64_t texture_bits(::__hip_texture* object) { return uint64_t(uintptr_t(object)); }

template <class T> struct ScalarTexel {
    static constexpr TexelKind kind = T(0.5) != T(0)  ? TexelKind::floating
                                      : T(-1) < T(0) ? TexelKind::signed_integer
                                                     : TexelKind::unsigned_integer;
    static T value(const Texel& texel, int channel)
    { return kind == TexelKind::floating ? T(texel.floats[channel]) : T(texel.integers[channel]); }
};

template <class T> struct TexelOf {
    static constexpr TexelType type = {ScalarTexel<T>::kind, sizeof(T), 1};
    static T value(const Texel& texel) { return ScalarTexel<T>::value(texel, 0); }
};
#define TILEGEN_TEXEL(SCALAR, NAME)                                                                          \
    template <> struct TexelOf<NAME##1> {                                                                    \
        static constexpr TexelType type = {ScalarTexel<SCALAR>::kind, sizeof(SCALAR), 1};                    \
        static NAME##1 value(const Texel& t) { return {ScalarTexel<SCALAR>::value(t, 0)}; }                  \
    };                                                                                                       \
    template <> struct TexelOf<NAME##2> {                                                                    \
        static constexpr TexelType type = {ScalarTexel<SCALAR>::kind, sizeof(SCALAR), 2};                    \
        static NAME##2 value(const Texel& t)                                                                 \
        { return {ScalarTexel<SCALAR>::value(t, 0), ScalarTexel<SCALAR>::value(t, 1)}; }                     \
    };                                                                                                       \
    template <> struct TexelOf<NAME##4> {                                                                    \
        static constexpr TexelType type = {ScalarTexel<SCALAR>::kind, sizeof(SCALAR), 4};                    \
        static NAME##4 value(const Texel& t)                                                                 \
        {                                                                                                    \
            return {ScalarTexel<SCALAR>::value(t, 0), ScalarTexel<SCALAR>::value(t, 1),                      \
                    ScalarTexel<SCALAR>::value(t, 2), ScalarTexel<SCALAR>::value(t, 3)};                     \
        }                                                                                                    \
    };
TILEGEN_TEXEL(float, float)
TILEGEN_TEXEL(int, int)
TILEGEN_TEXEL(unsigned, uint)
TILEGEN_TEXEL(short, short)
TILEGEN_TEXEL(unsigned short, ushort)
TILEGEN_TEXEL(signed char, char)
TILEGEN_TEXEL(unsigned char, uchar)
#undef TILEGEN_TEXEL

template <class T, class Object> inline T tex1Dfetch(Object object, int index, TILEGEN_AT)
{ return TexelOf<T>::value(fetch_texture(texture_bits(object), index, TexelOf<T>::type, "tex1Dfetch", at)); }

template <class T, class Object> inline T tex1D(Object object, float x, TILEGEN_AT)
{ return TexelOf<T>::value(sample_texture(texture_bits(object), 1, &x, TexelOf<T>::type, "tex1D", at)); }

template <class T, class Object> inline T tex2D(Object object, float x, float y, TILEGEN_AT)
{
    const float coordinates[] = {x, y};
    return TexelOf<T>::value(
        sample_texture(texture_bits(object), 2, coordinates, TexelOf<T>::type, "tex2D", at));
}

template <class T, class Object> inline T tex3D(Object object, float x, float y, float z, TILEGEN_AT)
{
    const float coordinates[] = {x, y, z};
    return TexelOf<T>::value(
        sample_texture(texture_bits(object), 3, coordinates, TexelOf<T>::type, "tex3D", at));
}

} // namespace tilegen_emulator
