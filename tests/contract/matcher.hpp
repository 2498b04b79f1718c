#pragma once
// Compares responses with expectations.

#include "tests/contract/transcript.hpp"
#include "tests/harness/http_client.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace belay::contract {

/// Records the indexes seen in one transcript, to compare their order.
class matcher {
public:
  /// Indexes up to `base` are from before the transcript.
  explicit matcher(std::uint64_t base) : base_(base) {}

  /// All differences between an expectation (the value of `expect`) and a response; empty if they
  /// match. Indexes are recorded.
  std::vector<std::string> reply(const json::object& expected, const harness::http_reply& got, const variables& env);
  /// The same for a bare value.
  std::vector<std::string> value(const json::value& expected, const json::value& got, const variables& env);

private:
  void complain(const std::string& where, const std::string& what);
  bool attempt(const json::value& expected, const json::value& got);
  void compare(const json::value& expected, const json::value& got, const std::string& where);
  void compare_members(const json::object& expected, const json::object& got, const std::string& where, bool others);
  void compare_list(const json::array& expected, const json::array& got, const std::string& where);
  void compare_pattern(std::string_view expected, const json::value& got, const std::string& where);
  void compare_index(std::string_view symbol, const json::value& got, const std::string& where);
  void compare_collection(std::string_view kind, const json::value& arg, const json::value& got,
                          const std::string& where);
  void compare_some(std::string_view kind, const json::array& expected, const json::array& got,
                    const std::string& where);

  std::uint64_t base_;
  std::map<std::uint64_t, std::uint64_t> seen_; // the N of ~idx:N -> value
  const variables* env_ = nullptr;
  std::vector<std::string> out_;
};

} // namespace belay::contract
