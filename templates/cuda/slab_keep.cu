#pragma unroll
for (int ${ piece } = 0; ${ piece } < ${ e(pieces, "<<") }; ++${ piece })
    if (${ piece } >= ${ steps.name }) ${ store }(${ piece });  // why: there were fewer steps than pieces
#pragma unroll
for (int ${ r } = 0; ${ r } < ${ rows }; ++${ r })
    #pragma unroll
    for (int ${ c } = 0; ${ c } < ${ cols } / 2; ++${ c })
        ${ packed }[${ r }][${ c }] = pack_${ dtype.name }(${ source }[${ r }][2 * ${ c }], ${ source }[${ r }][2 * ${ c } + 1]);
<% for name, value in keeps %>${ name } = ${ e(value) };<% if not loop.last %> <% endif %><% endfor %>

