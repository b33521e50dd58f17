const auto launch = [&] {
${ indent(test.host_call) }
};
launch();
