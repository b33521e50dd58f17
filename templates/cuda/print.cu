//% if plan and plan.region
${ body(plan.region, False) }
//% else
if (threadIdx.x == 0) printf(${ format }<% for v in values %>, ${ v }<% endfor %>);
//% endif
