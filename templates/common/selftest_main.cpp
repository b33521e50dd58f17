int main(${ "int argc, char** argv" if test.sizes else "" })
{
//% for name, default in test.sizes
    const int ${ name } = argc > ${ loop.index } ? std::atoi(argv[${ loop.index }]) : ${ default };
//% endfor
//% for name, value in test.derived.items()
    const int ${ name } = ${ value };  // rows follow rows
//% endfor
//% for failed, message in test.requirements
    if (${ failed }) return std::puts("${ message }"), 1;
//% endfor
//% for type, name, value in test.scalars
    const ${ type } ${ name }(${ value });
//% endfor
//% for t in test.tensors
    Tensor<${ t.type }> ${ t.name }({${ t.shape }}${ ", {" ~ t.strides ~ "}" if t.strides else "" });
//% endfor
//% for t in test.tensors if t.random
    for (auto& element : ${ t.name }.data) element = ${ t.random };
//% endfor
//% for t in test.outputs if not test.obstacle
    Tensor<${ t.type }> ${ t.name }_want = ${ t.name };
<% endfor %>

${ indent(launch) }
<% if not test.obstacle %>

//% for call in test.reference_calls
    ${ call }
//% endfor
    const double worst = ${ test.worst };
<% if test.float_outputs %>
    // ${ test.tolerance_rule }
    const double tolerance = ${ test.tolerance };
<% endif %>
    const bool ok = ${ test.verdict };
<% endif %>

    const double us = microseconds(launch, microseconds(launch, 3) < 2e5 ? 20 : 2);
<% if test.flops %>
    const double flops = ${ test.flops };
<% endif %>
<% if test.traffic %>
    const double bytes = ${ test.traffic };
<% endif %>
    std::printf("${ test.title_format }: "${ test.title_values });
    std::printf("${ test.line_format }\n",
                ${ test.line_values | join(", ") });
    return ${ "0" if test.obstacle else "ok ? 0 : 1" };
}
