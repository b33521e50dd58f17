#pragma unroll
for (int ${ tile } = 0; ${ tile } < ${ tiles }; ${ advance }) {
    const int ${ row } = ${ e(load.row) };
    const int ${ col } = ${ e(load.col) };
    ${ load.helper }(${ registers }[${ tile }], &${ e(load.element) });
}
