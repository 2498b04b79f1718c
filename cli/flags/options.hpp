#pragma once
// The flags and operands of one call of a command, parsed as by Go's flag package, and the client
// that they describe.

#include "cli/api/api_client.hpp"
#include "cli/flags/command.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::cli {

/// Flags end at the first word that is not one, as in Consul. A later argument that looks like a
/// flag is rejected, unless it follows `--` or belongs to a command that this one runs.
class options {
public:
  /// @param c must outlive this object
  explicit options(const command& c) : command_(&c) {}

  /// @returns the exit code if the command is complete: it has written help or an error to `t`
  std::optional<int> parse(const arguments& args, terminal t);

  const command& of() const { return *command_; }
  bool on(std::string_view name) const;
  bool given(std::string_view name) const { return values_.contains(std::string(name)); }
  /// Whether a flag is on, if it is on by default.
  bool on_by_default(std::string_view name) const { return !given(name) || on(name); }
  std::string value(std::string_view name, std::string otherwise = "") const;
  /// All values of a flag that may be given more than once, in their order.
  std::vector<std::string> values(std::string_view name) const;
  /// The number that parse() has checked; 0 if it was not given.
  std::uint64_t number(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::chrono::nanoseconds duration(std::string_view name, std::chrono::nanoseconds otherwise) const;
  /// The same for a time to wait: at most `for_ever`, so that it can be added to a clock.
  std::chrono::nanoseconds wait(std::string_view name, std::chrono::nanoseconds otherwise) const;
  /// Whether -format=json was given.
  bool json() const { return value("format") == "json"; }

  const std::vector<std::string>& words() const { return words_; }
  /// A client for the node that the options name. If there cannot be one, it prints an error and
  /// ends the command.
  api_client client(terminal t) const;
  /// Clients for two servers that are named by operands. The second gets a token of its own or
  /// none, as it may belong to another organization.
  std::pair<api_client, api_client> clients(const std::string& original, const std::string& copy, terminal t) const;
  /// The query parameters of -datacenter and -stale.
  api_query query() const;
  /// The query parameters of requests that not every server can answer: only -datacenter.
  api_query write_query() const;

  /// Prints an error about how the command was called, and where to find help.
  /// @returns 1
  int wrong_usage(terminal t, const std::string& complaint) const;

private:
  api_client client_at(const std::string& address, std::string token, std::string basic_auth, terminal t) const;
  [[noreturn]] void not_connected(const std::string& why, terminal t) const;
  result<std::string> own_token() const;

  const command* command_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> words_;
};

/// The variable BELAY_name or, without it, CONSUL_name. Empty counts as not set.
std::string environment(const char* name);

/// The data that a word on the command line names: the file for `@file`, the standard input
/// for `-`, otherwise the word itself. The failure reads `Failed to read file: ...`.
result<std::string> value_given(const std::string& word, std::istream& in);
/// Removes the leading slash that people write; keys never begin with one.
std::string without_leading_slash(const std::string& key);

} // namespace belay::cli
