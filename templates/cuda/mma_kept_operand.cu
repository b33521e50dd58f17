// why: ${ why }
${ register } ${ kept }[${ e(depth, "/") } / ${ step.name }][${ tiles_m.name }][${ a_registers }];
#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name }) {
    const int ${ lane } = threadIdx.x % WARP;
${ indent(render("mma_operand_" ~ load_a.form, load=load_a, registers=kept ~ "[" ~ k ~ " / " ~ step.name ~ "]", tile=i, tiles=tiles_m.name, count=a_registers, q=q, row=row, col=col, k=k)) }
}
