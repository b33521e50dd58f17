#pragma unroll
for (int ${ tile } = 0; ${ tile } < ${ tiles }; ++${ tile })
    #pragma unroll
    for (int ${ q } = 0; ${ q } < ${ count }; ++${ q }) {
        const int ${ row } = ${ e(load.row) };
        const int ${ col } = ${ e(load.col) };
        ${ registers }[${ tile }][${ q }] = <% if load.helper %>${ load.helper }${ "<" ~ e(load.pitch) ~ ">" if load.pitch else "" }(&${ e(load.element) })<% else %>${ e(load.element) }<% endif %>;
    }
