//% for t in test.tensors
${ t.kernel_type }* const ${ t.name }_device = upload<${ t.kernel_type }>(${ t.name });
<% endfor %>

//% for name, call in test.maps
const TensorMap ${ name }_map = ${ call };
//% endfor
//% for one in test.launches
const dim3 ${ one.grid_name }(${ one.grid });
//% endfor
//% for one in test.launches if one.shared and test.opts_in
check(${ api }FuncSetAttribute(reinterpret_cast<const void*>(${ one.entry }), ${ api }FuncAttributeMaxDynamicSharedMemorySize, ${ one.shared }));
//% endfor
const auto launch = [&] {
${ indent(test.device_call) }
};
launch();
check(${ api }GetLastError());
check(${ api }DeviceSynchronize());
//% for t in test.outputs if not test.obstacle
download(${ t.name }, ${ t.name }_device);
//% endfor
