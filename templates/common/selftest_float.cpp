// ${ f.name } on the host: ${ f.exponent } bits of exponent, ${ f.mantissa } of mantissa, rounded to nearest even.
struct ${ f.type } {
    ${ f.bits } bits;

    ${ f.type }() = default;
    explicit ${ f.type }(double x)
    {
        const double exponent = std::fmax(std::logb(x), ${ 1 - f.bias });  // subnormals share the least
        const double steps = std::nearbyint(std::fabs(x) * std::exp2(${ f.mantissa } - exponent));
        double magnitude = (exponent + ${ f.bias - 1 }) * ${ f.steps } + steps;
<% if f.has_infinity %>
        if (!(magnitude < ${ f.infinity })) magnitude = std::isnan(x) ? ${ f.nan } : ${ f.infinity };
<% else %>
        if (!(magnitude < ${ f.nan })) magnitude = ${ f.nan };  // there is no infinity
<% endif %>
        bits = int(magnitude) | (std::signbit(x) ? ${ f.sign } : 0);
    }

    operator double() const
    {
        const int exponent = bits >> ${ f.mantissa } & ${ f.exponents }, mantissa = bits & ${ f.steps - 1 };
        double x = std::ldexp(exponent ? ${ f.steps } + mantissa : mantissa, std::max(exponent, 1) - ${ f.bias + f.mantissa });
<% if f.has_infinity %>
        if (exponent == ${ f.exponents }) x = mantissa ? NAN : INFINITY;
<% else %>
        if (exponent == ${ f.exponents } && mantissa == ${ f.steps - 1 }) x = NAN;
<% endif %>
        return bits & ${ f.sign } ? -x : x;
    }
};
