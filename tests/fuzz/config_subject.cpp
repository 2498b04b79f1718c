#include "tests/fuzz/property.hpp"
#include "tests/fuzz/subjects.hpp"

#include "actors/node/config/hcl.hpp"
#include "actors/node/config/json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>

namespace belay::fuzz {

namespace {

namespace json = boost::json;
using namespace belay::actors;

/// Each position is in the text, and of an existing value.
void check_locations(const file_locations& locations, const json::value& v, std::size_t lines, std::size_t bytes) {
  for (const auto& [name, location] : locations.members) {
    HOLDS(location.at.line >= 1);
    HOLDS(location.at.line <= lines);
    HOLDS(location.at.column >= 1);
    HOLDS(location.at.column <= bytes + 2);
    HOLDS(v.is_object());
    const auto* member = v.get_object().if_contains(name);
    HOLDS(member != nullptr);
    check_locations(location, *member, lines, bytes);
  }
  HOLDS(locations.elements.empty() || v.is_array());
  HOLDS(locations.elements.empty() || locations.elements.size() <= v.get_array().size());
  for (std::size_t i = 0; i < locations.elements.size(); ++i)
    check_locations(locations.elements[i], v.get_array()[i], lines, bytes);
}

/// Compares doubles with a tolerance: Boost.JSON 1.81 parses some of them one unit in the last place
/// away from the number in the text.
bool are_alike(const json::value& a, const json::value& b) {
  if (const auto* one = a.if_double(); one != nullptr && b.is_double())
    return std::abs(*one - b.get_double()) <= 1e-15 * std::abs(*one);
  if (const auto* list = a.if_array(); list != nullptr && b.is_array())
    return std::equal(list->begin(), list->end(), b.get_array().begin(), b.get_array().end(), are_alike);
  const auto* members = a.if_object();
  if (members == nullptr || !b.is_object())
    return a == b;
  return members->size() == b.get_object().size() &&
         std::all_of(members->begin(), members->end(), [&](const auto& each) {
           const auto* other = b.get_object().if_contains(each.key());
           return other != nullptr && are_alike(each.value(), *other);
         });
}

} // namespace

config_finding fuzz_config(std::string_view bytes) {
  if (bytes.empty())
    return config_finding::refused;
  const auto text = bytes.substr(1);
  const auto read = bytes[0] == 'j' ? parse_config_json(text) : parse_config_hcl(text);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (const auto* wrong = std::get_if<config_text_error>(&read)) {
    HOLDS(!wrong->text.empty());
    HOLDS(wrong->at.line <= lines);
    HOLDS(wrong->at.column <= text.size() + 1);
    return config_finding::refused;
  }
  const auto& response = std::get<config_text>(read);
  check_locations(response.locations, response.values, lines, text.size());
  // Its values, written as JSON, are read as the same values.
  const auto again = parse_config_json(json::serialize(response.values));
  HOLDS(std::holds_alternative<config_text>(again));
  HOLDS(are_alike(response.values, std::get<config_text>(again).values));
  return response.values.empty() ? config_finding::empty : config_finding::read;
}

} // namespace belay::fuzz
