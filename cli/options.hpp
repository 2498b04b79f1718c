#pragma once
// Options of the client verbs, in the manner of Go's flag package, the address every one of them has, and what verbs do
// with the words behind their options.

#include "cli/api_client.hpp"
#include "cli/verbs.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

/// Parses `[options] words...`; options end at the first word that is none, as in Consul.
class options {
public:
  /// @param synopsis what follows `Usage: belay `
  /// @param switches names without value, @param valued names with one; -http-addr, -token, -token-file, -datacenter,
  /// -stale and those for HTTPS (-ca-file, ...) are always known.
  options(std::string synopsis, std::vector<std::string> switches, std::vector<std::string> valued);
  /// Of a verb that talks to nobody: only the names given here are known.
  static options offline(std::string synopsis, std::vector<std::string> switches, std::vector<std::string> valued);

  /// @returns the exit code if the verb is done already (help, or a complaint, both written to `t`).
  std::optional<int> parse(const arguments& args, terminal t);

  bool on(std::string_view name) const;
  bool given(std::string_view name) const { return values_.contains(std::string(name)); }
  std::string value(std::string_view name, std::string otherwise = "") const;
  /// All values of an option that may be given more than once, in their order.
  std::vector<std::string> values(std::string_view name) const;
  /// An unsigned number; parse() has checked it.
  std::uint64_t number(std::string_view name) const;
  /// Names among the valued ones that must be unsigned numbers.
  options& numbers(std::vector<std::string> names);

  const std::vector<std::string>& words() const { return words_; }
  /// A client for the node asked for. @returns nullopt after a complaint.
  std::optional<api_client> client(terminal t) const;
  /// Adds -datacenter and -stale to a query.
  api_query query() const;

private:
  std::string synopsis_;
  std::set<std::string, std::less<>> switches_, valued_, numbers_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> words_;
};

/// What a word on the command line means as data: `@file` that file, `-` the input, else the word itself. The failure
/// reads `Failed to read file: ...`.
result<std::string> value_given(const std::string& word, std::istream& in);
/// Keys never begin with a slash, but people write one.
std::string without_leading_slash(const std::string& key);

} // namespace belay::cli
