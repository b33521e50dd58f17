// The function of ${ host.header }: checks its arguments and launches ${ host.file }, which it includes.
//
//   ${ compile }
#include "${ host.header }"
<% if host.maps %>

#include <cuda.h>
<% endif %>

#include <stdint.h>

#define ${ host.name } ${ host.kernel }  // the entry makes room for the function of the same name
#include "${ host.file }"
#undef ${ host.name }

// An address of whatever type the kernel wants.
struct Pointer {
    const void* address;
    template <class T> operator T*() const { return static_cast<T*>(const_cast<void*>(address)); }
};
<% if host.maps %>

// What the copy engine has to know of a tensor in rows, outermost dimension first.
template <int RANK>
static bool encode(TensorMap& map, CUtensorMapDataType type, int bytes, const void* address,
                   const int (&shape)[RANK], const int (&box)[RANK])
{
    cuuint64_t extents[RANK], strides[RANK];
    cuuint32_t boxes[RANK], steps[RANK];
    cuuint64_t stride = bytes;
    for (int i = 0; i < RANK; ++i) {
        extents[i] = shape[RANK - 1 - i];
        boxes[i] = box[RANK - 1 - i];
        steps[i] = 1;
        stride *= extents[i];
        strides[i] = stride;
    }
    const CUresult result = cuTensorMapEncodeTiled(
        reinterpret_cast<CUtensorMap*>(&map), type, RANK, const_cast<void*>(address), extents,
        strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS;
}
<% endif %>

//% for name, bytes in host.workspaces

extern "C" size_t ${ host.name }_${ name }_bytes(${ sizes })
{
    return ${ bytes };
}
<% endfor %>


extern "C" ${ host.signature | replace("\n", "\n           ") }
{
//% for condition in host.requirements
    if (!(${ condition })) return ${ host.api }ErrorInvalidValue;
//% endfor
//% for name, bytes in host.aligned
    if (reinterpret_cast<uintptr_t>(${ name }) % ${ bytes }) return ${ host.api }ErrorInvalidValue;
//% endfor
<% if host.maps %>
    TensorMap ${ maps | join(", ") };
//% for name, type, extents, box in host.maps
    if (!encode(${ name }_map, CU_TENSOR_MAP_DATA_TYPE_${ type }, ${ host.map_bytes[name] }, ${ name },
                {${ extents }}, {${ box }}))
        return ${ host.api }ErrorInvalidValue;
//% endfor
<% endif %>
//% for one in host.launches
    {
        const dim3 grid(${ one.grid | join(", ") }), block(${ one.block | join(", ") });
        const int shared = ${ one.shared };
        if (shared > 48 * 1024) {  // more than a kernel may have without being asked
            const void* const entry = reinterpret_cast<const void*>(${ one.entry });
            const ${ host.api }Error_t refused = ${ host.api }FuncSetAttribute(
                entry, ${ host.api }FuncAttributeMaxDynamicSharedMemorySize, shared);
            if (refused) return refused;
        }
        if (grid.x && grid.y && grid.z)
            ${ one.entry }<<<grid, block, shared, stream>>>(
                ${ one.arguments });
    }
//% endfor
    return ${ host.api }GetLastError();
}
