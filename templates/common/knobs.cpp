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
