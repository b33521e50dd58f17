//% if clear
fill(${ c }${ c_lead }, 0);
//% endif
//% if single
{
//% else
#pragma unroll
for (int ${ k } = 0; ${ k } < ${ e(depth, "<<") }; ${ k } += ${ step.name }) {
//% endif
    const int ${ lane } = threadIdx.x % WARP;
    ${ register } <% if load_a.form != "kept" %>${ a }[${ tiles_m.name }][${ a_registers }], <% endif %>${ b }[${ tiles_n.name }][${ b_registers }];
${ indent(render("mma_loads", at="", **plan.values)) }
${ indent(render("mma_product", at="", **plan.values)) }
}
