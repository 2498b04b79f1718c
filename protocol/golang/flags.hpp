#pragma once
// Command lines with the rules and complaints of Go's flag package: `-name value` or `-name=value`, with one dash or two.
// What the flags are, and what their values mean, is up to each program.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::golang {

/// What stands behind the name of a flag where there is no `=`.
enum class flag_takes : std::uint8_t {
  nothing,
  value,            ///< the next word, whatever it looks like
  value_or_nothing, ///< the next word, unless that is a flag or there is none; Go has no such flags
};

struct given_flag {
  std::string_view name;
  std::optional<std::string> value; ///< nullopt: there is none
  bool attached = false;            ///< the value came with `=`, which a flag that takes nothing allows as well
};

/// Takes flags from the front of a command line, one at a time, and stops at the first word that is none.
class flag_reader {
public:
  /// What a flag takes; nullopt: there is none of that name.
  using known_flags = std::function<std::optional<flag_takes>(std::string_view name)>;

  /// @pre the words outlive the reader
  flag_reader(const std::vector<std::string>& words, known_flags known) : words_(words), known_(std::move(known)) {}

  /// nullopt: no flag is left. The failure reads `flag provided but not defined: -x`, `flag needs an argument: -x` or
  /// `bad flag syntax: ---x`.
  result<std::optional<given_flag>> next();

  /// The place of the word at which next() found no flag: perhaps "--", which only ends them. The count of words if
  /// all were flags.
  std::size_t position() const { return at_; }
  /// What stands behind the flags, without "--".
  std::vector<std::string> rest() const;

private:
  const std::vector<std::string>& words_;
  known_flags known_;
  std::size_t at_ = 0;
};

} // namespace belay::golang
