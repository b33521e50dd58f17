// A tensor under another shape, its elements in the same order.
template <class Whole>
struct Reshaped {
    Whole& whole;
    std::vector<long long> shape;
    using T = typename decltype(Whole::data)::value_type;

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
        return position < 0 ? T() : whole.data[position];
    }

    template <class Value>
    void set(std::initializer_list<long long> index, Value value) const
    {
        const long long position = at(index);
        if (position >= 0) whole.data[position] = T(value);
    }
};

template <class Whole>
static Reshaped<Whole> reshaped(Whole& whole, std::vector<long long> shape)
{
    return {whole, shape};
}
