// The tile before, in pairs of ${ type(dtype) }: it leaves piece by piece during the next one's products.
unsigned ${ packed }[${ rows }][${ cols } / 2];
int <% for name in at_names %>${ name } = ${ -1 if loop.last else 0 }<% if not loop.last %>, <% endif %><% endfor %>;  // where it goes; -1: there is none
const auto ${ store } = [&](int ${ piece }) {
    if (${ at_names[-1] } < 0) return;
${ indent(render("slab_piece", **inner)) }
};
