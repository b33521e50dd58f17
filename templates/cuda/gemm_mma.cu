//% if clear
#pragma unroll
for (int ${ i } = 0; ${ i } < ${ e(slots_m, "<") }; ++${ i })
    #pragma unroll
    for (int ${ j } = 0; ${ j } < ${ e(slots_n, "<") }; ++${ j }) ${ c }${ c_lead }[${ i }][${ j }] = 0;
//% endif
//% if single
{
//% else
#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name }) {
//% endif
    const int ${ lane } = threadIdx.x % WARP;
    ${ register } ${ a }[${ tiles_m.name }][${ a_registers }], ${ b }[${ tiles_n.name }][${ b_registers }];
${ indent(render("mma_operand_" ~ load_a.form, load=load_a, registers=a, tile=i, tiles=tiles_m.name, count=a_registers, q=q, row=row, col=col, k=k)) }
${ indent(render("mma_operand_" ~ load_b.form, load=load_b, registers=b, tile=j, tiles=tiles_n.name, count=b_registers, q=q, row=row, col=col, k=k)) }
    #pragma unroll
    for (int ${ i } = 0; ${ i } < ${ tiles_m.name }; ++${ i })
        #pragma unroll
        for (int ${ j } = 0; ${ j } < ${ tiles_n.name }; ++${ j })
            ${ helper }(<% for at in c_rows %>&${ c }${ c_lead }[${ e(at) }][${ e(c_col) }], <% endfor %>${ a }[${ i }], ${ b }[${ j }]);
}
