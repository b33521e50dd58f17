// BYTES bytes from global to shared memory in the background.
template <int BYTES> __device__ void cp_async(void* dst, const void* src)
{
    const unsigned address = __cvta_generic_to_shared(dst);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address), "l"(src));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     :: "r"(address), "l"(src), "n"(BYTES));
}
