// The function of ${ host.header }: checks its arguments and calls ${ host.file }, which it includes.
//
//   ${ compile }
#include "${ host.header }"

#include <errno.h>
#include <stdint.h>

#define ${ host.name } ${ host.kernel }  // the entry makes room for the function of the same name
#include "${ host.file }"
#undef ${ host.name }

// An address of whatever type the kernel wants.
struct Pointer {
    const void* address;
    template <class T> operator T*() const { return static_cast<T*>(const_cast<void*>(address)); }
};
//% for name, bytes in host.workspaces

extern "C" size_t ${ host.name }_${ name }_bytes(${ sizes })
{
    return ${ bytes };
}
<% endfor %>


extern "C" ${ host.signature | replace("\n", "\n           ") }
{
//% for condition in host.requirements
    if (!(${ condition })) return EINVAL;
//% endfor
//% for name, bytes in host.aligned
    if (reinterpret_cast<uintptr_t>(${ name }) % ${ bytes }) return EINVAL;
//% endfor
//% for one in host.launches
    ${ one.entry }(${ one.arguments });
//% endfor
    return 0;
}
