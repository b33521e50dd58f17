/* ${ host.name } of ${ host.file }, for C and C++.
//% for note in host.notes
   ${ note }
//% endfor
   Returns 0, or EINVAL for sizes or addresses that the kernel is not made for. */
#pragma once
#include <stddef.h>

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
