// Sets every element of a tile.
template <class Tile>
static inline void fill(Tile& tile, std::remove_all_extents_t<Tile> value)
{
    using T = std::remove_all_extents_t<Tile>;
    std::fill_n(reinterpret_cast<T*>(&tile), sizeof tile / sizeof(T), value);
}
