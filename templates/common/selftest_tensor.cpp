// A tensor on the host, in rows. It starts as NaN; outside of it reads give 0, writes are dropped.
template <class T>
struct Tensor {
    std::vector<long long> shape;
    std::vector<T> data;

    explicit Tensor(std::initializer_list<long long> extents) : shape(extents)
    {
        size_t count = 1;
        for (long long extent : shape) count *= extent;
        data.resize(count);
        std::memset(static_cast<void*>(data.data()), 0xff, count * sizeof(T));
    }

    // Where an element lies in data, -1 outside.
    long long at(std::initializer_list<long long> index) const
    {
        long long position = 0;
        auto extent = shape.begin();
        for (long long i : index) {
            if (i < 0 || i >= *extent) return -1;
            position = position * *extent++ + i;
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
