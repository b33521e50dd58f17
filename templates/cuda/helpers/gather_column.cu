// Four bytes, one below the other in rows of PITCH, as one register.
template <int PITCH, class T> __device__ unsigned gather_column(const T* top)
{
    const unsigned char* byte = reinterpret_cast<const unsigned char*>(top);
    return byte[0] | byte[PITCH] << 8 | byte[2 * PITCH] << 16 | unsigned(byte[3 * PITCH]) << 24;
}
