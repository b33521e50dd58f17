<% if plan.shared %>
${ frame.heading("Tiles: one set for each thread") }
struct Tiles {
//% for place in plan.shared
    alignas(64) ${ type(place.buffer.dtype) } ${ place.buffer.name }${ frame.shape(place.buffer) };
//% endfor
};

static Tiles& thread_tiles()
{
    static thread_local const std::unique_ptr<Tiles> tiles = std::make_unique<Tiles>();
    return *tiles;
}

<% endif %>
${ frame.heading("The kernel") }
static void ${ kernel.name }_block(${ frame.cpu.block_parameters(body) })
{
${ indent(body) }
}

extern "C" void ${ kernel.name }(${ frame.cpu.entry_parameters(body) })
{
#pragma omp parallel
    {
//% if plan.shared
        Tiles& ${ frame.memory } = thread_tiles();
//% endif
//% if frame.launch_origin()
        // ${ frame.launch_origin() }
//% endif
#pragma omp for<% if kernel.grid | length > 1 %> collapse(${ kernel.grid | length })<% endif %> schedule(dynamic)  // blocks at the edges are smaller
<% set text = namespace(value=kernel.name ~ "_block(" ~ frame.cpu.block_arguments(body) ~ ");") %>
//% for var, extent in frame.cpu.loops()
<% set text.value = "for (int " ~ var ~ " = 0; " ~ var ~ " < " ~ e(extent, "<<") ~ "; ++" ~ var ~ ")\n" ~ indent(text.value) %>
//% endfor
${ indent(text.value, 8) }
    }
}
