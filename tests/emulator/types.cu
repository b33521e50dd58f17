// Conversions of the small floats, for every pattern: decode<T> and encode<T> of arrays.
template <class T>
__device__ void decode(const T* patterns, float* values, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) values[i] = patterns[i];
}

template <class T>
__device__ void encode(const float* values, T* patterns, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) patterns[i] = values[i];
}

template <class T>
__device__ void encode_double(const double* values, T* patterns, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) patterns[i] = values[i];
}

extern "C" __global__ void decode_float16(const float16* p, float* v, int n) { decode(p, v, n); }
extern "C" __global__ void decode_bfloat16(const bfloat16* p, float* v, int n) { decode(p, v, n); }
extern "C" __global__ void decode_float8_e4m3(const float8_e4m3* p, float* v, int n) { decode(p, v, n); }
extern "C" __global__ void decode_float8_e5m2(const float8_e5m2* p, float* v, int n) { decode(p, v, n); }
extern "C" __global__ void encode_float16(const float* v, float16* p, int n) { encode(v, p, n); }
extern "C" __global__ void encode_bfloat16(const float* v, bfloat16* p, int n) { encode(v, p, n); }
extern "C" __global__ void encode_float8_e4m3(const float* v, float8_e4m3* p, int n) { encode(v, p, n); }
extern "C" __global__ void encode_float8_e5m2(const float* v, float8_e5m2* p, int n) { encode(v, p, n); }
extern "C" __global__ void double_float16(const double* v, float16* p, int n) { encode_double(v, p, n); }
