if (!(${ e(op.condition) })) {
    printf("%s\n", ${ message });
    stop();
}
