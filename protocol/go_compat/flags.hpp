#pragma once
// Command lines with the rules and errors of Go's flag package: `-name value` or
// `-name=value`, with one dash or two. Each program defines its flags and their values.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::go_compat {

/// What follows the name of a flag without `=`.
enum class flag_takes : std::uint8_t {
  nothing,
  value,            ///< the next word, even if it looks like a flag
  value_or_nothing, ///< the next word, unless it is a flag or missing; Go has no such flags
};

struct given_flag {
  std::string_view name;
  std::optional<std::string> value; ///< nullopt: there is none
  bool attached = false;            ///< the value came with `=`, which is also allowed for flags without a value
};

/// Reads flags from the front of a command line, one at a time, up to the first other word.
class flag_reader {
public:
  /// What a flag takes; nullopt: unknown flag.
  using known_flags = std::function<std::optional<flag_takes>(std::string_view name)>;

  /// @pre the words outlive the reader
  flag_reader(const std::vector<std::string>& words, known_flags known) : words_(words), known_(std::move(known)) {}

  /// nullopt: no flag is left. The error is `flag provided but not defined:
  /// -x`, `flag needs an argument: -x` or `bad flag syntax: ---x`.
  result<std::optional<given_flag>> next();

  /// Index of the word at which next() found no flag: perhaps "--",
  /// which only ends them. The number of words if all were flags.
  std::size_t position() const { return at_; }
  /// The words after the flags, without "--".
  std::vector<std::string> rest() const;

private:
  const std::vector<std::string>& words_;
  known_flags known_;
  std::size_t at_ = 0;
};

} // namespace belay::go_compat
