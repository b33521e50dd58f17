//% if before
${ body(before, False) }
//% endif
for (int ${ row.name } = 0; ${ row.name } < ${ e(rows, "<<") }; ${ row.name } += MR)
    for (int ${ col.name } = 0; ${ col.name } < ${ e(columns, "<<") }; ${ col.name } += NR)
        ${ kernel }(${ e(a) }<% if a_start is not none %> + ${ e(a_start, "*") }<% endif %>, ${ e(b) }<% if b_start is not none %> + ${ e(b_start, "*") }<% endif %>, ${ e(c) }, ${ e(depth) });
//% if after
${ body(after, False) }
//% endif
