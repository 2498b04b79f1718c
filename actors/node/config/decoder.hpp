#pragma once
// Takes values out of a checked configuration, and notes what is wrong with them.

#include "actors/node/config/keys.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

class config_decoder {
public:
  /// @param problems of the sources, which are all read
  config_decoder(const placed_config& config, config_problems& problems);

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
  /// Something is missing, or keys contradict each other. It is shown at the first of `blamed` that was given. It is not noted if it may
  /// be otherwise in what could not be read: in a source, or in one of `others`, keys whose values would make it right.
  void complain(std::string text, std::span<const std::string_view> blamed = {},
                std::span<const std::string_view> others = {});
  void complain(std::string text, std::initializer_list<std::string_view> blamed,
                std::initializer_list<std::string_view> others = {}) {
    complain(std::move(text), std::span(blamed.begin(), blamed.size()), std::span(others.begin(), others.size()));
  }

  /// How many complaints there are, those of the sources among them.
  std::size_t complaints() const { return problems_.list().size(); }
  bool complained() const { return !problems_.none(); }
  const boost::json::object& values() const { return config_.values; }

private:
  /// @returns nullopt: not there, or no such number
  std::optional<std::int64_t> whole(std::string_view path, std::int64_t low, std::int64_t high);
  config_place place_of(std::string_view path) const;
  /// Whether the key, or one below it, was given with a value of a wrong type.
  bool is_mistyped(std::string_view path) const;

  const placed_config& config_;
  config_problems& problems_;
  bool all_sources_read_;
};

} // namespace belay::actors
