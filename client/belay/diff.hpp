#pragma once
// What differs between the keys of two servers, or clusters, below a prefix.
//
// Promise: diff() tells every key whose value or flags differ at both of its looks, and no other: a
// difference that goes away within `settle` was one on its way. Indexes are not compared: they are
// those of each cluster. Keys that lists cannot name are told as not_comparable, on whichever side
// they are. Survives: servers that go and come back while it reads; it reads twice at most what it
// compares. When it cannot: *refused* with the reason of the last try.
//
// `digests` are 512 numbers, one for each slot of names (FNV-1a of the name): they can be made in
// one place, kept or sent, and compared in another one; slots that have the same number have the
// same keys with all but certainty (64 bits of FNV-1a, which is no protection against somebody who
// wants a collision).

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
  missing_delete,   ///< the copy has a key that the original has not: its erasure has not come
  phantom_undelete, ///< the original has a key that the copy has not: it was erased there, or has not come
  other_value,
  not_comparable, ///< its name is not UTF-8: what is shown of it stands for several names
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

  /// In which slot a key is; without the prefix.
  static std::size_t slot_of(std::string_view key) noexcept;
  /// @param key without the prefix. In any order; each key once
  void add(std::string_view key, std::string_view value, std::uint64_t flags) noexcept;
  /// Numbers of the slots that differ.
  std::vector<std::size_t> differing(const key_digests& other) const;
  bool operator==(const key_digests&) const = default;

private:
  std::array<std::uint64_t, slots> sums_{};
};

/// Of all keys below `prefix`. @returns refused with reason::invalid if one of them cannot be named
task<result<key_digests>> digests(world& w, std::string prefix, patience limit);

class diff_options {
public:
  diff_options() = default;
  /// A difference counts if it is still there after that.
  milliseconds settle{1000};
};

/// In order of keys. @param original, copy two worlds, or one with two prefixes
task<result<std::vector<difference>>> diff(world& original, std::string prefix, world& copy, std::string copy_prefix,
                                           patience limit, diff_options options = diff_options());

} // namespace v0
} // namespace belay
