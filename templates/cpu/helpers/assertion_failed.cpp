// Says what failed and ends the program.
[[noreturn]] static void assertion_failed(const char* message)
{
    fprintf(stderr, "%s\n", message);
    abort();
}
