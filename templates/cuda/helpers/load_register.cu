// The 4 bytes of neighbouring elements, at a multiple of 4, as one register.
template <class T> __device__ unsigned load_register(const T* first)
{
    return *reinterpret_cast<const unsigned*>(first);
}
