//% if clear
#pragma unroll
for (int ${ i } = 0; ${ i } < 2 * ${ tiles_m.name }; ++${ i })
    #pragma unroll
    for (int ${ j } = 0; ${ j } < 2 * ${ tiles_n.name }; ++${ j }) ${ c }${ c_lead }[${ i }][${ j }] = 0;
//% endif
#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name }) {
    const int ${ lane } = threadIdx.x % WARP;
    unsigned ${ a }[${ tiles_m.name }][4], ${ b }[${ tiles_n.name }][2];
    #pragma unroll
//% if load_a.form == "registers"
    for (int ${ i } = 0; ${ i } < ${ tiles_m.name }; ++${ i })
        #pragma unroll
        for (int ${ q } = 0; ${ q } < 4; ++${ q })
            ${ a }[${ i }][${ q }] = pack_pair(&${ load_a.buffer }${ load_a.lead }[2 * ${ i } + ${ q } % 2][${ k } / 4 + ${ q } / 2 * 2]);
//% else
    for (int ${ i } = 0; ${ i } < ${ tiles_m.name }; ++${ i }) {
        const int ${ row } = ${ e(load_a.row) };
        const int ${ col } = ${ e(load_a.col) };
        ${ load_a.helper }(${ a }[${ i }], &${ e(load_a.element) });
    }
//% endif
    #pragma unroll
    for (int ${ j } = 0; ${ j } < ${ tiles_n.name }; ${ j } += 2) {
        const int ${ row } = ${ e(load_b.row) };
        const int ${ col } = ${ e(load_b.col) };
        ${ load_b.helper }(${ b }[${ j }], &${ e(load_b.element) });
    }
    #pragma unroll
    for (int ${ i } = 0; ${ i } < ${ tiles_m.name }; ++${ i })
        #pragma unroll
        for (int ${ j } = 0; ${ j } < ${ tiles_n.name }; ++${ j })
            ${ helper }(&${ c }${ c_lead }[2 * ${ i }][2 * ${ j }], &${ c }${ c_lead }[2 * ${ i } + 1][2 * ${ j }], ${ a }[${ i }], ${ b }[${ j }]);
}
