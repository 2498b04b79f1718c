#pragma once
// Hashes of rows. The digest of the tables is their sum: equal on all nodes that applied the same entries, and stored in
// checkpoints. A row's hash follows from its list of fields and the number of its table; it is never zero, which stands
// for "no row".

#include "protocol/state/rows.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace belay::state {

class row_hasher {
public:
  explicit row_hasher(table t) : state_(k0 + static_cast<std::uint64_t>(t) * k1) {}

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

  // ---- members of records, by their types

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
      if constexpr (f.is(as::later)) {
        if (is_absent(record.*f.member))
          return;
      }
      add(record.*f.member);
    });
  }

  /// The last step spreads every bit once more, because hashes are added up.
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
};

/// `Row` is one of row_value's, but not the empty one.
template <class Row>
std::uint64_t row_hash(const Row& row) {
  const auto& record = record_of(row); // of a key: views, which live as long as this reference
  row_hasher h(record.in);
  h.add(record);
  if constexpr (std::is_same_v<Row, outcome_ptr>) {
    if (record.answer != nullptr)
      h.number(answer_hash(*record.answer));
  } else if constexpr (std::is_same_v<Row, staged_ptr>) {
    if (record.rows == nullptr)
      return h.value();
    for (const auto& each : *record.rows) {
      h.text(each.key);
      std::visit(
          [&](const auto& staged) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(staged)>, std::monostate>)
              h.number(row_hash(staged));
          },
          each.row);
    }
  }
  return h.value();
}

} // namespace belay::state
