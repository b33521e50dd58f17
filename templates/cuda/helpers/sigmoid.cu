__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
