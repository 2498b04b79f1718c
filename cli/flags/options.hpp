#pragma once
// The flags and words of one call of a command, read in the manner of Go's flag package, and the
// client that they describe.

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

/// Flags end at the first word that is none, as in Consul. An argument that looks like a flag is
/// refused, unless `--` ends the
/// flags, or it belongs to a command that this one runs.
class options {
public:
  /// @param c outlives this object
  explicit options(const command& c) : command_(&c) {}

  /// @returns the exit code if the command is done already (help, or a complaint, both written to
  /// `t`).
  std::optional<int> parse(const arguments& args, terminal t);

  const command& of() const { return *command_; }
  bool on(std::string_view name) const;
  bool given(std::string_view name) const { return values_.contains(std::string(name)); }
  /// Of a flag that is on unless somebody says otherwise.
  bool on_by_default(std::string_view name) const { return !given(name) || on(name); }
  std::string value(std::string_view name, std::string otherwise = "") const;
  /// All values of a flag that may be given more than once, in their order.
  std::vector<std::string> values(std::string_view name) const;
  /// parse() has checked it; 0 if it was not given.
  std::uint64_t number(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::chrono::nanoseconds duration(std::string_view name, std::chrono::nanoseconds otherwise) const;
  /// -format=json
  bool json() const { return value("format") == "json"; }

  const std::vector<std::string>& words() const { return words_; }
  /// A client for the node asked for. @returns nullopt after a complaint.
  api_client client(terminal t) const;
  /// Clients for two servers that are named as words. The second gets a token of its own, or none:
  /// it may be a stranger's.
  std::pair<api_client, api_client> clients(const std::string& original, const std::string& copy, terminal t) const;
  /// Adds -datacenter and -stale to a query.
  api_query query() const;
  /// Adds what cannot be answered by any server: only -datacenter.
  api_query write_query() const;

  /// A complaint about how the command was called: it, and where help is. @returns 1
  int wrong_usage(terminal t, const std::string& complaint) const;

private:
  api_client client_at(const std::string& address, std::string token, std::string basic_auth, terminal t) const;
  [[noreturn]] void not_connected(const std::string& why, terminal t) const;
  result<std::string> own_token() const;

  const command* command_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> words_;
};

/// BELAY_name before CONSUL_name; empty counts as not set.
std::string environment(const char* name);

/// What a word on the command line means as data: `@file` that file, `-` the input, else the word
/// itself. The failure
/// reads `Failed to read file: ...`.
result<std::string> value_given(const std::string& word, std::istream& in);
/// Keys never begin with a slash, but people write one.
std::string without_leading_slash(const std::string& key);

} // namespace belay::cli
