// A tensor on the host, in rows. It starts as NaN; outside of it reads give 0, writes are dropped.
template <class T>
struct Tensor {
    std::vector<long long> shape;
//% if test.strided
    std::vector<long long> strides;  // none where rows follow rows
//% endif
    std::vector<T> data;

    explicit Tensor(std::initializer_list<long long> extents) : shape(extents)
    {
        size_t count = 1;
        for (long long extent : shape) count *= extent;
        data.resize(count);
        std::memset(static_cast<void*>(data.data()), 0xff, count * sizeof(T));
    }

//% if test.strided
    // With elements so far apart; gaps are 0.
    Tensor(std::initializer_list<long long> extents, std::initializer_list<long long> steps)
        : shape(extents), strides(steps)
    {
        size_t count = 1;
        for (size_t d = 0; d < shape.size(); ++d) count += (shape[d] - 1) * strides[d];
        data.resize(count);
    }

//% endif
    // Where an element lies in data, -1 outside.
    long long at(std::initializer_list<long long> index) const
    {
        long long position = 0;
        auto extent = shape.begin();
//% if test.strided
        auto stride = strides.begin();
//% endif
        for (long long i : index) {
            if (i < 0 || i >= *extent) return -1;
//% if test.strided
            if (!strides.empty()) position += i * *stride++, ++extent;
            else position = position * *extent++ + i;
//% else
            position = position * *extent++ + i;
//% endif
        }
        return position;
    }

    T operator[](std::initializer_list<long long> index) const
    {
        const long long position = at(index);
        return position < 0 ? T() : data[position];
    }

    template <class Value>
    void set(std::initializer_list<long long> index, Value value)
    {
        const long long position = at(index);
        if (position >= 0) data[position] = T(value);
    }
};
