//% for line in provenance
${ ("// " ~ line).rstrip() }
//% endfor

<% set text = plain | join("\n\n") ~ kernel.sources | join ~ body %>
#include <immintrin.h>
<% for include, mark in [("algorithm", "std::"), ("cmath", "std::"), ("cstdio", "printf("), ("cstdlib", "abort("), ("cstring", "memcpy("), ("limits", "numeric_limits"), ("memory", "unique_ptr"), ("type_traits", "_t<")] if mark in text %>
#include <${ include }>
<% endfor %>

<% include "common/knobs.cpp" %>
<% if plain %>

// ---- Helpers -----------------------------------------------------------------------------------
${ plain | join("\n\n") }
<% endif %>
<% if kernel.sources %>

// ---- Imported by the kernel --------------------------------------------------------------------
${ kernel.sources | join("\n\n") }
<% endif %>

${ body }
