#pragma once
// The commands of the program as values. Parsing, help, completion and the man page are made from
// these tables.

#include "cli/terminal.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace belay::cli {

class options;

enum class flag_kind : std::uint8_t {
  toggle, ///< without a value, or with `=true` or `=false`
  text,
  list, ///< text that may be repeated
  unsigned_number,
  integer,
  duration, ///< as in Go: 10s, 1h30m
};

struct flag {
  std::string_view name;
  flag_kind kind = flag_kind::text;
  /// Placeholder for its value in help: `<name>`; or all values that it may have, separated by
  /// bars.
  std::string_view value = {};
  std::string_view help = {}; ///< one line
};

/// `line` is what follows `belay `.
struct example {
  std::string_view line, help;
};

/// Which servers a command contacts.
enum class reach : std::uint8_t {
  nothing,
  agent,   ///< the node itself: -http-addr, -token, and the options for TLS
  cluster, ///< also -datacenter and -stale
  two,     ///< two servers, given as operands instead of -http-addr; also a token for the second
};

struct command {
  std::string_view name; ///< its words, separated by single blanks
  std::string_view help; ///< one line
  std::string_view operands = {};
  /// What does not fit in one line; it is printed as it is, and its last line has no line break.
  std::string_view text = {};
  reach asks = reach::cluster;
  bool formats = true; ///< takes -format
  std::vector<flag> flags = {};
  std::vector<example> examples = {};
  /// The exit code of a failure, and of a wrong call.
  int failed = 1;
  int (*run)(const options&, terminal) = nullptr;
  /// Set instead of `run` for a command that parses its flags itself.
  int (*run_words)(const arguments&, terminal) = nullptr;
};

/// Ends a command after it has printed its error; run() catches it. Never thrown where a coroutine
/// runs.
struct command_ended {
  int code;
};

/// The flags of the table and those that `asks` and `formats` add, sorted by name.
std::vector<flag> all_flags(const command& c);
/// @returns nullptr if no flag has this name
const flag* find_flag(const std::vector<flag>& flags, std::string_view name);
/// The values that `f` may have; empty: any value.
std::vector<std::string_view> choices(const flag& f);

} // namespace belay::cli
