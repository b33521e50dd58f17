// BYTES bytes from global to shared memory in the background, of which the first `filled` are read and
// the rest are zero.
template <int BYTES> __device__ void cp_async(void* dst, const void* src, int filled)
{
    const unsigned address = __cvta_generic_to_shared(dst);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :: "r"(address), "l"(src), "r"(filled));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :: "r"(address), "l"(src), "n"(BYTES), "r"(filled));
}
