//% for t in test.tensors
${ t.kernel_type }* const ${ t.name }_device = upload<${ t.kernel_type }>(${ t.name });
<% endfor %>

const dim3 grid(${ test.grid });
<% if test.shared and test.opts_in %>
check(${ api }FuncSetAttribute(reinterpret_cast<const void*>(${ test.entry_name }), ${ api }FuncAttributeMaxDynamicSharedMemorySize, ${ test.shared }));
<% endif %>
const auto launch = [&] {
${ indent(test.device_call) }
};
launch();
check(${ api }GetLastError());
check(${ api }DeviceSynchronize());
//% for t in test.outputs if not test.obstacle
download(${ t.name }, ${ t.name }_device);
//% endfor
