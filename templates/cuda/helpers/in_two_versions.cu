// Runs `body` with the flag as a constant: the compiler makes one version of it for each value.
template <class Body> __device__ void in_two_versions(bool flag, Body body)
{
    if (flag) body(true);
    else body(false);
}
