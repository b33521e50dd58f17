//% for line in provenance
${ ("// " ~ line).rstrip() }
//% endfor
<% for include in target.includes %>

#include <${ include }>
<% endfor %>

<% include "common/knobs.cpp" %>
<% if hardware or plain %>

// ---- Device helpers ----------------------------------------------------------------------------
//% if hardware
#ifndef TILEGEN_EMULATOR
${ hardware | join("\n\n") }
#endif
<% endif %>
<% if plain %>
<% if hardware %>

<% endif %>
${ plain | join("\n\n") }
<% endif %>
<% endif %>
<% if kernel.sources %>

// ---- Imported by the kernel --------------------------------------------------------------------
${ kernel.sources | join("\n\n") }
<% endif %>

${ body }
