// ---- Stand-alone: random inputs, a check against plain loops, a timing -------------------------
#ifdef TILEGEN_MAIN
//% for header in headers
#include <${ header }>
<% endfor %>

${ parts | join("\n\n") }
#endif
