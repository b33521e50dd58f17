// The largest error, relative to |want| plus the mean size of all elements. NaN is right only where
// the plain loops give NaN too.
template <class T>
static double worst_error(const Tensor<T>& got, const Tensor<T>& want)
{
    double total = 0, worst = 0;
    for (const T& y : want.data)
        if (std::isfinite(double(y))) total += std::fabs(double(y));
    const double mean = total / want.data.size();
    for (size_t i = 0; i < want.data.size(); ++i) {
        const double x(got.data[i]), y(want.data[i]);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        const double error = std::fabs(x - y) / (mean + std::fabs(y));
        worst = std::isnan(error) ? INFINITY : std::fmax(worst, error);
    }
    return worst;
}
