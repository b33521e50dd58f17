// Texture fetches. For a filter a coordinate is a fixed-point number with 8 bits after the point, as in
// hardware: the weights of the neighbours are multiples of 1/256.
#include "transactions.h"

#include "textures.h"

#include <math.h>

namespace tilegen_emulator {

enum class AddressMode : uint8_t { clamp, wrap, mirror, border };

static const char* name_of(TexelKind kind)
{ return kind == TexelKind::floating ? "float" : kind == TexelKind::signed_integer ? "int" : "uint"; }

static const TextureBytes& texture_of(uint64_t object, int dimensions, TexelType type, const char* what,
                                      Place at)
{
    const TextureBytes* texture = nullptr;
    for (void* made : worker->launch->maps)
        if (uint64_t(uintptr_t(made)) == object) texture = static_cast<const TextureBytes*>(made);
    if (!texture || texture->magic != texture_magic)
        fault(at, "%s: 0x%llx is not a texture object of this launch", what, (unsigned long long)object);
    if (dimensions != texture->rank) fault(at, "%s of a texture with %d dimensions", what, texture->rank);
    const bool floats = texture->read_normalized || TexelKind(texture->kind) == TexelKind::floating;
    const TexelKind kind = floats ? TexelKind::floating : TexelKind(texture->kind);
    const int bytes = floats ? 4 : texture->element_bytes;
    if (type.kind != kind || type.bytes != bytes || type.channels != texture->channels)
        fault(at, "%s of %d x %s%d from a texture that gives %d x %s%d", what, type.channels,
              name_of(type.kind), type.bytes * 8, texture->channels, name_of(kind), bytes * 8);
    return *texture;
}

static void read_channel(const TextureBytes& texture, const char* data, Texel& texel, int channel)
{
    const unsigned bits = 8u * texture.element_bytes, unused = 32 - bits;
    uint32_t word = 0;
    memcpy(&word, data, texture.element_bytes);
    if (TexelKind(texture.kind) == TexelKind::floating) {
        texel.floats[channel] = bits == 16 ? Format16::decode(word) : float_of(word);
        return;
    }
    const bool is_signed = TexelKind(texture.kind) == TexelKind::signed_integer;
    const int value = is_signed ? int(word << unused) >> unused : int(word);
    const float most = float((1u << (bits - is_signed)) - 1); // of 8 and 16 bits
    if (!texture.read_normalized) texel.integers[channel] = value;
    else texel.floats[channel] = float(value) < -most ? -1 : float(value) / most;
}

static Texel read_texel(const TextureBytes& texture, uint64_t number, const char* what, Place at)
{
    const size_t bytes = size_t(texture.channels) * texture.element_bytes;
    const char* data = texture.base + number * bytes;
    touch_read(data, bytes, texture.element_bytes, what, at);
    Texel texel = {};
    for (int channel = 0; channel < texture.channels; ++channel)
        read_channel(texture, data + channel * texture.element_bytes, texel, channel);
    return texel;
}

Texel fetch_texture(uint64_t object, int index, TexelType type, const char* what, Place at)
{
    const TextureBytes& texture = texture_of(object, 1, type, what, at);
    if (index < 0 || uint32_t(index) >= texture.extent[0])
        fault(at, "out-of-bounds access: %s of element %d of a texture with %u", what, index,
              texture.extent[0]);
    return read_texel(texture, uint64_t(index), what, at);
}

// The element that stands for number `index` of a dimension; -1: the border.
static long addressed(long index, long extent, AddressMode mode)
{
    if (index >= 0 && index < extent) return index;
    switch (mode) {
    case AddressMode::clamp: return index < 0 ? 0 : extent - 1;
    case AddressMode::wrap: return (index % extent + extent) % extent;
    case AddressMode::mirror: {
        const long turned = (index % (2 * extent) + 2 * extent) % (2 * extent);
        return turned < extent ? turned : 2 * extent - 1 - turned;
    }
    default: return -1;
    }
}

// Far outside, where a long could not hold it, a coordinate is as good as any other there.
static double limited(double x) { return x != x ? 0 : x < -1e9 ? -1e9 : x > 1e9 ? 1e9 : x; }

struct Neighbours {
    long index[2];
    float weight[2]; // of the second: 0 without a filter
};

static Neighbours neighbours(const TextureBytes& texture, int dimension, float coordinate)
{
    const long extent = long(texture.extent[dimension]);
    const AddressMode mode = AddressMode(texture.address[dimension]);
    const double x = limited(texture.normalized ? double(coordinate) * double(extent) : double(coordinate));
    long first = long(floor(x)), fraction = 0;
    if (texture.linear) {
        const long fixed = long(floor((x - 0.5) * 256 + 0.5)); // 8 bits after the point
        first = fixed >> 8;
        fraction = fixed & 255;
    }
    const float weight = float(fraction) / 256;
    return {{addressed(first, extent, mode), addressed(first + 1, extent, mode)}, {1 - weight, weight}};
}

Texel sample_texture(uint64_t object, int dimensions, const float* coordinates, TexelType type,
                     const char* what, Place at)
{
    const TextureBytes& texture = texture_of(object, dimensions, type, what, at);
    Neighbours near[3] = {{{0, 0}, {1, 0}}, {{0, 0}, {1, 0}}, {{0, 0}, {1, 0}}};
    for (int d = 0; d < dimensions; ++d) near[d] = neighbours(texture, d, coordinates[d]);
    Texel sum = {};
    for (int corner = 0; corner < (texture.linear ? 1 << dimensions : 1); ++corner) {
        float weight = 1;
        long number = 0;
        bool border = false;
        for (int d = dimensions - 1; d >= 0; --d) {
            const int side = corner >> d & 1;
            weight *= near[d].weight[side];
            border |= near[d].index[side] < 0;
            number = number * long(texture.extent[d]) + near[d].index[side];
        }
        if (texture.linear && weight == 0) continue;
        Texel texel = {};
        if (border) memcpy(&texel, texture.border, sizeof texel);
        else texel = read_texel(texture, uint64_t(number), what, at);
        if (!texture.linear) return texel;
        for (int channel = 0; channel < 4; ++channel) sum.floats[channel] += weight * texel.floats[channel];
    }
    return sum;
}

} // namespace tilegen_emulator
