#pragma once
// A command of the program as a value. Parsing, help, completion and the man page are made from these tables.

#include "cli/terminal.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace belay::cli {

class options;

enum class flag_kind : std::uint8_t {
  toggle, ///< nothing behind it, or `=true`, `=false`
  text,
  list, ///< text, any number of times
  unsigned_number,
  integer,
  duration, ///< as Go's: 10s, 1h30m
};

struct flag {
  std::string_view name;
  flag_kind kind = flag_kind::text;
  std::string_view value =
      {}; ///< what stands for its value in help: `<name>`; or with bars between them, all values there are
  std::string_view help = {}; ///< one line
};

/// The line is what stands behind `belay `.
struct example {
  std::string_view line, help;
};

/// Whom a command talks to.
enum class reach : std::uint8_t {
  nobody,
  agent,   ///< the node itself: -http-addr, -token, and those for TLS
  cluster, ///< besides, -datacenter and -stale
  two,     ///< two servers that are words, not -http-addr; besides, a token for the second
};

struct command {
  std::string_view name; ///< its words, separated by one blank
  std::string_view help; ///< one line
  std::string_view operands = {};
  std::string_view text =
      {}; ///< more than one line would say; lines as they are to be printed, the last without a break
  reach asks = reach::cluster;
  bool formats = true; ///< takes -format
  std::vector<flag> flags = {};
  std::vector<example> examples = {};
  /// The exit code if it cannot be done, or was called wrongly.
  int failed = 1;
  int (*run)(const options&, terminal) = nullptr;
  /// Of a command that reads its flags itself; `run` is null then.
  int (*run_words)(const arguments&, terminal) = nullptr;
};

/// Ends a command after its complaint; run() catches it. Not thrown where a coroutine runs.
struct command_ended {
  int code;
};

/// Those of the table, and those that `asks` and `formats` bring, sorted by name.
std::vector<flag> all_flags(const command& c);
/// nullptr: there is none of that name.
const flag* find_flag(const std::vector<flag>& flags, std::string_view name);
/// The values that `f` may have; empty: anything.
std::vector<std::string_view> choices(const flag& f);

} // namespace belay::cli
