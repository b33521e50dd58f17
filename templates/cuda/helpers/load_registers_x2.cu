// The 8 bytes of neighbouring elements, at a multiple of 8, as two registers.
template <class T> __device__ void load_registers_x2(unsigned* r, const T* first)
{
    const uint2 words = *reinterpret_cast<const uint2*>(first);
    r[0] = words.x;
    r[1] = words.y;
}
