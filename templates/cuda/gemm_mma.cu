//% if clear
#pragma unroll
for (int ${ i } = 0; ${ i } < 2 * ${ tiles_m.name }; ++${ i })
    #pragma unroll
    for (int ${ j } = 0; ${ j } < 2 * ${ tiles_n.name }; ++${ j }) ${ c }${ c_lead }[${ i }][${ j }] = 0;
//% endif
//% if single
{
//% else
#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name }) {
//% endif
    const int ${ lane } = threadIdx.x % WARP;
    unsigned ${ a }[${ tiles_m.name }][${ a_registers }], ${ b }[${ tiles_n.name }][${ b_registers }];
${ indent(render("mma_operand_" ~ load_a.form, load=load_a, registers=a, tile=i, tiles=tiles_m.name, advance="++" ~ i, count=a_registers, q=q, row=row, col=col, k=k)) }
${ indent(render("mma_operand_" ~ load_b.form, load=load_b, registers=b, tile=j, tiles=tiles_n.name, advance=j ~ " += 2" if load_b.form == "matrix" else "++" ~ j, count=b_registers, q=q, row=row, col=col, k=k)) }
    #pragma unroll
    for (int ${ i } = 0; ${ i } < ${ tiles_m.name }; ++${ i })
        #pragma unroll
        for (int ${ j } = 0; ${ j } < ${ tiles_n.name }; ++${ j })
            ${ helper }(&${ c }${ c_lead }[2 * ${ i }][2 * ${ j }], &${ c }${ c_lead }[2 * ${ i } + 1][2 * ${ j }], ${ a }[${ i }], ${ b }[${ j }]);
}
