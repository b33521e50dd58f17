// Every element of an array in registers becomes `value`.
template <class T, class V> __device__ void fill(T& element, V value) { element = value; }

template <class T, int N, class V> __device__ void fill(T (&array)[N], V value)
{
    #pragma unroll
    for (int i = 0; i < N; ++i) fill(array[i], value);
}
