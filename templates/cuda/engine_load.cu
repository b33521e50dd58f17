#pragma unroll
for (int ${ at } = 0; ${ at } < ${ e(cols, "<<") }; ${ at } += ${ piece.name })
    ${ helper }(${ e.array(tile) }${ at_stage } + ${ e(place, "+") }, &${ tensor }, &${ e.array(full) }${ at_stage }, <% for x in places %>${ e(x) }<% if not loop.last %>, <% endif %><% endfor %>${ ", " ~ mask.name if mask else "" }${ ", " ~ policy ~ "()" if policy else "" });
