#pragma once
// Decodes values of a checked configuration, and collects their errors.

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
  /// @param problems of the sources, which have all been read
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

  /// The value of a key, or of an element of it, is invalid.
  void wrong(std::string_view path, std::string text);
  /// A key is missing, or keys contradict each other. Reports the problem at the first of `blamed`
  /// that is set. Reports nothing if a source, or one of `others` (the keys that would fix it),
  /// could not be read.
  void complain(std::string text, std::span<const std::string_view> blamed = {},
                std::span<const std::string_view> others = {});
  void complain(std::string text, std::initializer_list<std::string_view> blamed,
                std::initializer_list<std::string_view> others = {}) {
    complain(std::move(text), std::span(blamed.begin(), blamed.size()), std::span(others.begin(), others.size()));
  }

  /// Number of complaints, including those of the sources.
  std::size_t complaints() const { return problems_.list().size(); }
  bool complained() const { return !problems_.none(); }
  const boost::json::object& values() const { return config_.values; }

private:
  /// @returns nullopt: not set, or no such number
  std::optional<std::int64_t> whole(std::string_view path, std::int64_t low, std::int64_t high);
  source_location location_of(std::string_view path) const;
  /// Whether the key, or one below it, has a value of a wrong type.
  bool is_mistyped(std::string_view path) const;

  const placed_config& config_;
  config_problems& problems_;
  bool all_sources_read_;
};

} // namespace belay::actors
