#pragma once
// Compares the keys below a prefix on two servers or clusters.
//
// Guarantees: diff() reports every key whose value or flags differ in both of its reads, and no
// other: a difference that goes away within `settle` was a change in flight. Indexes are not
// compared: each cluster has its own. Keys whose names cannot be listed exactly are reported as
// not_comparable, on either side. Survives: server restarts while it reads; it reads what it
// compares at most twice. On failure: *refused* with the reason of the last try.
//
// `digests` are 512 numbers, one for each slot of names (FNV-1a of the name). You can compute
// them in one place, store or send them, and compare them in another. Slots with equal numbers
// have the same keys, almost certainly (64 bits of FNV-1a; no protection against intentional
// collisions).

#include <belay/keys.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay {
inline namespace v0 {

enum class difference_kind : std::uint8_t {
  missing_delete,   ///< only the copy has the key: its erasure has not been copied
  phantom_undelete, ///< only the original has the key: the copy erased it, or has not received it
  other_value,
  not_comparable, ///< its name is not valid UTF-8: the text shown matches several names
};

std::string_view name_of(difference_kind k) noexcept;

class difference {
public:
  difference() = default;
  difference_kind kind = difference_kind::other_value;
  std::string key; ///< without the prefix
};

class key_digests {
public:
  static constexpr std::size_t slots = 512;

  /// The slot of a key; without the prefix.
  static std::size_t slot_of(std::string_view key) noexcept;
  /// Adds a key. The order does not matter, but add each key once.
  /// @param key without the prefix
  void add(std::string_view key, std::string_view value, std::uint64_t flags) noexcept;
  /// The numbers of the slots that differ.
  std::vector<std::size_t> differing(const key_digests& other) const;
  bool operator==(const key_digests&) const = default;

private:
  std::array<std::uint64_t, slots> sums_{};
};

/// Digests of all keys below `prefix`. @returns refused, reason::invalid: a key has no exact name
task<result<key_digests>> digests(environment& env, std::string prefix, deadline limit);

class diff_options {
public:
  diff_options() = default;
  /// A difference is reported if it is still there after this time.
  milliseconds settle{1000};
};

/// Sorted by key.
/// @param original, copy two environments, or one with two prefixes
task<result<std::vector<difference>>> diff(environment& original, std::string prefix, environment& copy,
                                           std::string copy_prefix, deadline limit,
                                           diff_options options = diff_options());

} // namespace v0
} // namespace belay
