// What the copy engine has to know of a tensor in rows, for copies of `box`; outermost dimension first.
template <class Element>
static TensorMap tensor_map(const Element* device, CUtensorMapDataType type,
                            const std::vector<int>& shape, const std::vector<int>& box)
{
    const std::vector<cuuint64_t> extents(shape.rbegin(), shape.rend());
    const std::vector<cuuint32_t> boxes(box.rbegin(), box.rend()), steps(box.size(), 1);
    std::vector<cuuint64_t> strides{sizeof(Element)};
    for (cuuint64_t extent : extents) strides.push_back(strides.back() * extent);
    TensorMap map;
    const CUresult result = cuTensorMapEncodeTiled(
        reinterpret_cast<CUtensorMap*>(&map), type, shape.size(), const_cast<Element*>(device),
        extents.data(), &strides[1], boxes.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS) return map;
    std::printf("CUDA: a tensor map is refused, error %d\n", int(result));
    std::exit(1);
}
