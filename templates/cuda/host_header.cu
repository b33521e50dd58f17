/* ${ host.name } of ${ host.file }, for C and C++. Pointers are addresses on the device.
//% for note in host.notes
   ${ note }
//% endfor
   Returns 0, or a ${ host.api }Error_t: InvalidValue for sizes or addresses that the kernel is not
   made for, or what the launch gives. It does not wait for the kernel. */
#pragma once
#include <stddef.h>
#include <${ include }>

#ifdef __cplusplus
extern "C" {
#endif

${ host.signature };
//% for name, bytes in host.workspaces
size_t ${ host.name }_${ name }_bytes(${ sizes });
<% endfor %>


#ifdef __cplusplus
}
#endif
