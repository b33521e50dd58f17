#pragma unroll
for (int ${ i } = 0; ${ i } < ${ tiles_m.name }; ++${ i })
    #pragma unroll
    for (int ${ j } = 0; ${ j } < ${ tiles_n.name }; ++${ j })
        ${ helper }(<% for place in c_rows %>&${ c }${ c_lead }[${ e(place) }][${ e(c_col) }], <% endfor %>${ a }${ at }[${ i }], ${ b }${ at }[${ j }]);
