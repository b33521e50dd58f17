#pragma unroll
for (int ${ tile } = 0; ${ tile } < ${ tiles }; <% if load.pairs %>${ tile } += 2<% else %>++${ tile }<% endif %>) {
    const int ${ row } = ${ e(load.row) };
    const int ${ col } = ${ e(load.col) };
    ${ load.helper }(${ registers }[${ tile }], &${ e(load.element) });
}
