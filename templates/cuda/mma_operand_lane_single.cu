#pragma unroll
for (int ${ tile } = 0; ${ tile } < ${ tiles }; ++${ tile }) {
    const int ${ row } = ${ e(load.row) };
    const int ${ col } = ${ e(load.col) };
    ${ registers }[${ tile }][0] = <% if load.helper %>${ load.helper }${ "<" ~ e(load.pitch) ~ ">" if load.pitch else "" }(&${ e(load.element) })<% else %>${ e(load.element) }<% endif %>;
}
