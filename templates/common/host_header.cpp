/* ${ host.name } of ${ host.file }, for C and C++.${ " Pointers are addresses on the device." if host.api }
//% for note in host.notes
   ${ note }
//% endfor
<% if host.api %>
   Returns 0, or a ${ host.api }Error_t: InvalidValue for sizes or addresses that the kernel is not
   made for, or what the launch gives. It does not wait for the kernel. */
<% else %>
   Returns 0, or EINVAL for sizes or addresses that the kernel is not made for. */
<% endif %>
#pragma once
#include <stddef.h>
<% if host.api %>
#include <${ include }>
<% endif %>

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
