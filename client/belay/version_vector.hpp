#pragma once
// Version vectors track the causality of data that several clusters change independently.
//
// Guarantees: a vector counts the changes of each site. One is *before* another if it has seen
// nothing that the other has not. merged() has seen what either has. It is commutative, associative
// and idempotent, so the order and number of deliveries do not matter. Values changed independently
// are *concurrent*; merge() keeps the later one, or lets the caller decide. Two concurrent erasures
// become one with both histories. It is a value without requests: store it with the data.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay {
inline namespace v0 {

enum class version_order : std::uint8_t { equal, before, after, concurrent };

class version_vector {
public:
  version_vector() = default;

  /// Counts one more change of that site. Names are not empty and have no comma or equals sign.
  version_vector& count(const std::string& site);
  /// 0 if none was seen.
  std::uint64_t of(const std::string& site) const;
  bool empty() const noexcept { return seen_.empty(); }

  version_order compare(const version_vector& other) const;
  version_vector merged(const version_vector& other) const;
  bool operator==(const version_vector&) const = default;

  /// `a=3,b=1`, sorted by name; empty for an empty vector.
  std::string text() const;
  /// nullopt if the text is malformed.
  static std::optional<version_vector> parse(std::string_view text);

private:
  std::map<std::string, std::uint64_t> seen_; ///< has no zeros
};

/// A value with its history. An erased value keeps it, or its erasure would be forgotten.
class versioned {
public:
  versioned() = default;
  versioned(std::optional<std::string> v, version_vector seen) : value(std::move(v)), version(std::move(seen)) {}
  std::optional<std::string> value; ///< nullopt: erased
  version_vector version;
  bool operator==(const versioned&) const = default;
};

/// Returns the later one; of concurrent ones the result of `decide(a, b)`, with both histories
/// (even those of a value and an erasure). `decide` gets the smaller one first, so that all decide
/// alike.
/// @param decide `std::optional<std::string>(const std::optional<std::string>&, const
/// std::optional<std::string>&)`
template <class F>
versioned merge(const versioned& a, const versioned& b, F&& decide) {
  switch (a.version.compare(b.version)) {
  case version_order::before:
    return b;
  case version_order::after:
    return a;
  case version_order::equal:
  case version_order::concurrent:
    break;
  }
  auto both = a.version.merged(b.version);
  if (a.value == b.value)
    return versioned(a.value, std::move(both));
  bool in_order = a.value < b.value;
  return versioned(in_order ? decide(a.value, b.value) : decide(b.value, a.value), std::move(both));
}

} // namespace v0
} // namespace belay
