#pragma once
// The log of a node, for operators: one line per event, with `key=value` pairs after the text, on
// stdout or in a file; or JSON. docs/operate/operations.md lists the important lines.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace belay::log {

/// In order of urgency: a line is written if its level is not below the configured one.
enum class level : int { trace, debug, info, warn, error };

/// Consul's names, in any case: TRACE DEBUG INFO WARN ERR (also WARNING and ERROR).
std::optional<level> level_named(std::string_view name);

/// A value and its key. Refers to the caller's text: valid until the end of the call.
class field {
public:
  field(std::string_view key, std::string_view v) : key_(key), value_(v) {}
  field(std::string_view key, const char* v) : field(key, std::string_view(v)) {}
  field(std::string_view key, const std::string& v) : field(key, std::string_view(v)) {}
  field(std::string_view key, bool v) : key_(key), value_(v) {}
  field(std::string_view key, double v) : key_(key), value_(v) {}
  template <std::integral Int>
  requires(!std::same_as<Int, bool>) field(std::string_view key, Int v)
      : key_(key), value_(std::conditional_t<std::signed_integral<Int>, std::int64_t, std::uint64_t>{v}) {}

  std::string_view key() const { return key_; }
  /// Null: it is a number or a boolean.
  const std::string_view* text() const { return std::get_if<std::string_view>(&value_); }
  /// Appends a number, `true` or `false`. @pre text() is null
  void append_plain(std::string& out) const;

private:
  std::string_view key_;
  std::variant<std::string_view, bool, std::int64_t, std::uint64_t, double> value_;
};

using fields = std::initializer_list<field>;

/// One line without the line break: `2026-11-21T10:00:00.123Z [INFO]  raft: became leader term=3`,
/// or a JSON object. Texts with blanks, quotes or control characters are quoted: an event is always
/// one line.
/// @param unix_ms milliseconds since 1970, UTC
std::string format_line(bool json, std::int64_t unix_ms, level l, std::string_view module, std::string_view message,
                        fields more);

struct settings {
  level lowest = level::info;
  bool json = false;
  bool to_stdout = true;
  std::string file; ///< appended to, in addition to stdout; empty: none; a folder: `belay.log` in it
};

/// Applies to later lines, in every thread.
/// @returns empty, or why the file cannot be opened (then nothing has changed).
std::string configure(const settings& s);
void set_level(level lowest);
/// One atomic load: check it before you build something costly.
bool enabled(level l);

/// A follower of the log, with its own level. Lines are queued up to a limit, then only counted.
class tap {
public:
  /// Receives later lines of all threads.
  /// @param bytes_max of queued lines
  tap(level lowest, bool json, std::size_t bytes_max);
  ~tap();
  tap(const tap&) = delete;
  tap& operator=(const tap&) = delete;

  /// The lines since the last call, each with its line break; the last one counts dropped ones.
  std::string take();

private:
  friend void write(level l, std::string_view module, std::string_view message, fields more);

  const level lowest_;
  const bool json_;
  const std::size_t bytes_max_;
  // Guarded by the log's mutex.
  std::string lines_;
  std::uint64_t lost_ = 0;
};

void write(level l, std::string_view module, std::string_view message, fields more = {});
inline void debug(std::string_view module, std::string_view message, fields more = {}) {
  if (enabled(level::debug))
    write(level::debug, module, message, more);
}
inline void info(std::string_view module, std::string_view message, fields more = {}) {
  if (enabled(level::info))
    write(level::info, module, message, more);
}
inline void warn(std::string_view module, std::string_view message, fields more = {}) {
  if (enabled(level::warn))
    write(level::warn, module, message, more);
}
inline void error(std::string_view module, std::string_view message, fields more = {}) {
  if (enabled(level::error))
    write(level::error, module, message, more);
}

} // namespace belay::log
