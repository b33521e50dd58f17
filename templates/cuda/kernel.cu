<% if plan.shared %>
${ frame.heading("Shared memory") }
struct Smem {
//% for group in plan.shared_groups
//% if group | length > 1
    union {  // tiles that are in use one after the other
//% for phase in group
//% if phase | length == 1
        ${ frame.member(phase[0]) }
//% else
        struct {
//% for place in phase
            ${ frame.member(place) }
//% endfor
        };
//% endif
//% endfor
    };
//% else
    ${ frame.member(group[0][0]) }
//% endif
//% endfor
};
constexpr int SMEM_BYTES = ${ e(frame.shared_size()) };
static_assert(sizeof(Smem) <= SMEM_BYTES, "SMEM_BYTES counts every member of Smem");
static_assert(alignof(Smem) <= ${ plan.shared_alignment }, "shared[] starts at a multiple of ${ plan.shared_alignment } bytes");
static_assert(SMEM_BYTES <= ${ target.max_shared }, "a block of ${ target.arch } can have no more shared memory");
<% endif %>
<% if axes %>

${ frame.heading("Layouts: the element that this thread holds in a slot") }
//% for axis in axes
${ frame.layout_function(axis) }
//% endfor
<% endif %>
<% if places %>

// ---- Places: where the elements of a shared tile lie -------------------------------------------
${ places | join("\n\n") }
<% endif %>

${ frame.heading("The kernel") }
extern "C" __global__ void __launch_bounds__(${ frame.threads }, ${ frame.min_blocks })${ frame.cluster }
${ kernel.name }(${ frame.signature() })
{
<% if plan.shared %>
    extern __shared__ __align__(${ plan.shared_alignment }) unsigned char shared[];
    Smem& ${ frame.memory } = *reinterpret_cast<Smem*>(shared);
<% endif %>
<% if frame.block_variables(body) %>
    // ${ frame.launch_origin() }
//% if frame.panels()
    ${ frame.panels() }
//% else
    const int ${ frame.block_variables(body) | join(", ") };
//% endif
<% endif %>

${ indent(body) }
}
