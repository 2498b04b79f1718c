#include "actors/node/config/decoder.hpp"

#include "actors/node/config/json.hpp"
#include "protocol/go_compat/duration.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace belay::actors {

config_decoder::config_decoder(const placed_config& config, config_problems& problems)
    : config_(config), problems_(problems),
      all_sources_read_(std::none_of(problems.list().begin(), problems.list().end(), [](const config_problem& p) {
        return p.is == config_problem::kind::unreadable || p.is == config_problem::kind::malformed;
      })) {}

bool config_decoder::has(std::string_view path) const {
  return value_at(config_.values, path) != nullptr;
}

void config_decoder::get(std::string_view path, bool& to) const {
  if (const auto* v = value_at(config_.values, path))
    to = v->get_bool();
}

void config_decoder::get(std::string_view path, std::string& to) const {
  if (const auto* v = value_at(config_.values, path))
    to = std::string(v->get_string());
}

void config_decoder::get(std::string_view path, std::vector<std::string>& to) const {
  if (const auto* v = value_at(config_.values, path))
    for (const auto& one : v->get_array())
      to.emplace_back(one.get_string());
}

void config_decoder::get(std::string_view path, std::map<std::string, std::string>& to) const {
  if (const auto* v = value_at(config_.values, path))
    for (const auto& member : v->get_object())
      to[std::string(member.key())] = std::string(member.value().get_string());
}

void config_decoder::get(std::string_view path, std::chrono::nanoseconds& to) {
  const auto* v = value_at(config_.values, path);
  if (!v)
    return;
  const std::string_view text(v->get_string());
  if (auto d = go_compat::parse_duration(text))
    to = *d;
  else
    wrong(path, std::string(path) + ": invalid duration: \"" + std::string(text) +
                    "\": " + go_compat::duration_complaint(text));
}

std::optional<std::int64_t> config_decoder::whole(std::string_view path, std::int64_t low, std::int64_t high) {
  const auto* v = value_at(config_.values, path);
  if (!v)
    return std::nullopt;
  boost::system::error_code ec;
  const auto n = v->to_number<std::int64_t>(ec);
  if (!ec && n >= low && n <= high)
    return n;
  wrong(path,
        std::string(path) + " must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return std::nullopt;
}

void config_decoder::wrong(std::string_view path, std::string text) {
  problems_.add({config_problem::kind::value, {}, std::move(text), location_of(path)});
}

void config_decoder::complain(std::string text, std::span<const std::string_view> blamed,
                              std::span<const std::string_view> others) {
  if (!all_sources_read_ || std::any_of(others.begin(), others.end(), [&](auto path) { return is_mistyped(path); }))
    return;
  source_location at;
  for (const auto path : blamed)
    if (at.source.empty())
      at = location_of(path);
  problems_.add({config_problem::kind::whole, {}, std::move(text), std::move(at)});
}

bool config_decoder::is_mistyped(std::string_view path) const {
  return std::any_of(problems_.list().begin(), problems_.list().end(), [&](const config_problem& p) {
    return p.is == config_problem::kind::wrong_type && p.key.starts_with(path) &&
           (p.key.size() == path.size() || p.key[path.size()] == '.');
  });
}

/// The location of an element; if it has none, that of its list.
source_location config_decoder::location_of(std::string_view path) const {
  auto found = config_.locations.find(path);
  if (found == config_.locations.end())
    found = config_.locations.find(path.substr(0, path.find('[')));
  return found == config_.locations.end() ? source_location{} : found->second;
}

} // namespace belay::actors
