// What the copy engine knows of a tensor: 128 bytes that the host fills (cuTensorMapEncodeTiled).
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
