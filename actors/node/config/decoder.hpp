#pragma once
// Takes values out of a checked configuration, and notes what is wrong with them.

#include "actors/node/config/keys.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

class config_decoder {
public:
  /// What is missing or contradictory is noted only if `problems` is empty now: else it may be a source that could not be read.
  config_decoder(const placed_config& config, config_problems& problems)
      : config_(config), problems_(problems), complete_(problems.none()) {}

  bool has(std::string_view path) const;
  void get(std::string_view path, bool& to) const;
  void get(std::string_view path, std::string& to) const;
  void get(std::string_view path, std::vector<std::string>& to) const;
  void get(std::string_view path, std::map<std::string, std::string>& to) const;
  void get(std::string_view path, std::chrono::nanoseconds& to);
  /// A whole number in [low, high].
  template <class Int>
  void get(std::string_view path, Int& to, std::int64_t low, std::int64_t high) {
    if (const auto n = whole(path, low, high))
      to = static_cast<Int>(*n);
  }

  /// The value of a key, or an element of it, can never be right.
  void wrong(std::string_view path, std::string text);
  /// Something is missing, or keys contradict each other. It is shown at the first of `blamed` that was given.
  void complain(std::string text, std::initializer_list<std::string_view> blamed = {});

  bool complained() const { return !problems_.none(); }
  const boost::json::object& values() const { return config_.values; }

private:
  /// @returns nullopt: not there, or no such number
  std::optional<std::int64_t> whole(std::string_view path, std::int64_t low, std::int64_t high);
  config_place place_of(std::string_view path) const;

  const placed_config& config_;
  config_problems& problems_;
  bool complete_;
};

} // namespace belay::actors
