// Included inside the struct of one instruction set that has defined register_bytes and
// tile_patches: its registers.

// What a comparison of two vectors of T has in each lane.
template <class T>
using lane_integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// One register's worth of elements. Registers are loaded and stored one by one: sums that are
// copied as an array do not stay in registers.
template <class T>
struct lanes_of {
  using vector [[gnu::vector_size(register_bytes)]] = T;
  static constexpr std::size_t count = register_bytes / sizeof(T);
  static vector load(const T* from) {
    vector v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
  }
  static void store(const vector& v, T* to) { __builtin_memcpy(to, &v, sizeof(v)); }
};

// Outputs of a panel of weights: two registers.
template <class T>
static constexpr std::size_t panel_width = 2 * register_bytes / sizeof(T);
