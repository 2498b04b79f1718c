#pragma once
// Hashes of rows. The digest of the tables is their sum: it is equal on all nodes that
// applied the same entries, and is stored in checkpoints. A row's hash derives from
// its list of fields and its table's number; it is never zero, which means "no row".

#include "protocol/state/rows.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace belay::state {

class row_hasher {
public:
  /// Later members (as::later) count in rows of tables; rows in results do not have them.
  enum class counts : std::uint8_t { what_rows_carry, what_answers_carry };
  explicit row_hasher(table t, counts what = counts::what_rows_carry)
      : state_(k0 + static_cast<std::uint64_t>(t) * k1), what_(what) {}

  void number(std::uint64_t v) { state_ = folded_product(state_ ^ k0, v ^ k1) + k1; }

  void text(std::string_view bytes) {
    number(bytes.size());
    const char* p = bytes.data();
    std::size_t n = bytes.size();
    for (; n >= 16; p += 16, n -= 16)
      state_ = folded_product(load(p) ^ k1, load(p + 8) ^ state_);
    if (n != 0) {
      char rest[16] = {};
      std::memcpy(rest, p, n);
      state_ = folded_product(load(rest) ^ k1, load(rest + 8) ^ state_);
    }
  }

  // ---- members of records, by type

  void add(std::string_view v) { text(v); }
  void add(payload_ref v) { text(view_of(v)); }
  void add(const payload& v) { add(payload_ref(v)); }
  void add(bool v) { number(v ? 1 : 0); }
  void add(std::uint64_t v) { number(v); }
  void add(std::int64_t v) { number(static_cast<std::uint64_t>(v)); }
  template <class Tag>
  void add(strong_id<Tag> v) {
    number(v.value);
  }
  template <named_enum Enum>
  void add(Enum v) {
    number(static_cast<std::uint64_t>(v));
  }
  template <class T>
  void add(const std::optional<T>& v) {
    add(v.has_value());
    if (v)
      add(*v);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    number(list.size());
    for (const auto& each : list)
      add(each);
  }
  template <class T>
  void add(const std::map<std::string, T>& map) {
    number(map.size());
    for (const auto& [name, value] : map) {
      add(name);
      add(value);
    }
  }
  template <listed Record>
  void add(const Record& record) {
    for_each_field<Record>([&](auto f) {
      if constexpr (f.is(as::later | as::latest)) {
        if (what_ == counts::what_answers_carry || is_absent(record.*f.member))
          return;
      }
      add(record.*f.member);
    });
  }
  void add(const std::shared_ptr<const reply>& answer) {
    if (answer != nullptr)
      number(answer_hash(*answer));
  }
  /// A batch counts as an empty head and its rows.
  void add(const staged_part& part);

  /// The last step mixes all bits once more, because hashes are summed.
  std::uint64_t value() const {
    const auto h = folded_product(state_ ^ k0, k1);
    return h == 0 ? k1 : h;
  }

private:
  // Odd constants of wyhash (Wang Yi, public domain); any with well-spread bits would do.
  static constexpr std::uint64_t k0 = 0xA0761D6478BD642FULL;
  static constexpr std::uint64_t k1 = 0xE7037ED1A0B428DBULL;

  static std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
    const auto wide = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(wide) ^ static_cast<std::uint64_t>(wide >> 64);
  }

  static std::uint64_t load(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    if constexpr (std::endian::native == std::endian::big)
      word = __builtin_bswap64(word);
    return word;
  }

  std::uint64_t state_;
  counts what_;
};

/// @pre `Row` is an alternative of row_value other than monostate
template <class Row>
std::uint64_t row_hash(const Row& row) {
  const auto& record = record_of(row); // for a key: views that live as long as this reference
  row_hasher h(record.in);
  h.add(record);
  return h.value();
}

/// Hash of any row; zero: the row was removed.
inline std::uint64_t row_hash(const dirty_row& row) {
  return std::visit(
      [](const auto& each) -> std::uint64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, std::monostate>)
          return 0;
        else
          return row_hash(each);
      },
      row.row);
}

inline void row_hasher::add(const staged_part& part) {
  const auto* batch = std::get_if<row_batch>(&part);
  add(batch != nullptr ? restore_head{} : std::get<restore_head>(part));
  if (batch == nullptr)
    return;
  for (const auto& each : **batch) {
    text(each.key);
    number(row_hash(each));
  }
}

} // namespace belay::state
