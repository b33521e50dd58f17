//% for line in provenance
${ ("// " ~ line).rstrip() }
//% endfor
<% for include in target.includes %>

#include <${ include }>
<% endfor %>

// ---- Knobs: turn these; everything else in the file follows ------------------------------------
//% for line in knobs
${ line }
//% endfor
<% if derived %>

//% for line in derived
${ line }
//% endfor
<% endif %>
<% if checks %>

//% for line in checks
${ line }
//% endfor
<% endif %>
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

${ body }
