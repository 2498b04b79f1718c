#include "actors/node/config/hcl.hpp"

#include "actors/node/config/json.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/base/result.hpp"
#include "protocol/hcl/parser.hpp"
#include "protocol/hcl/reading.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <iterator>
#include <span>

namespace belay::actors {

namespace {

namespace json = boost::json;

/// Blocks with these names are elements of a list, even if there is only one.
bool is_list_of_objects(std::string_view name) {
  static constexpr std::string_view names[] = {"bootstrap", "checks",    "paths",  "segments",
                                               "services",  "upstreams", "watches"};
  return std::any_of(std::begin(names), std::end(names),
                     [name](std::string_view listed) { return equal_ignoring_case(name, listed); });
}

failure wrong(const hcl::position& at, std::string what) {
  return failure{hcl::shown({at, std::move(what), hcl::error::placed::after_at})};
}

/// A value, its location, and the locations in it.
struct placed {
  json::value is;
  file_locations locations;
};

file_locations location_of(const hcl::position& at) {
  return {{at.line, at.column}, {}, {}};
}

result<placed> value_of(std::string_view name, const hcl::value& v);

/// The value of a block, or of a list with only one: an element of a list of objects stays in a
/// list.
placed as_block(std::string_view name, placed object) {
  if (!is_list_of_objects(name))
    return object;
  placed one{json::array(), {object.locations.at, {}, {}}};
  one.is.get_array().push_back(std::move(object.is));
  one.locations.elements.push_back(std::move(object.locations));
  return one;
}

/// Adds another block of the same name, or replaces an earlier value.
status join(const std::string& name, const hcl::position& at, json::object& into, file_locations& locations, placed v) {
  auto& there = into[name];
  auto& location = locations.members[name];
  if (there.is_array() && v.is.is_array() && is_list_of_objects(name)) {
    for (auto& each : v.is.get_array())
      there.get_array().push_back(std::move(each));
    std::move(v.locations.elements.begin(), v.locations.elements.end(), std::back_inserter(location.elements));
  } else if (there.is_object() && v.is.is_object()) {
    return wrong(at, name + " is defined twice: merge both into one block");
  } else {
    there = std::move(v.is);
    location = std::move(v.locations);
    location.at = {at.line, at.column};
  }
  return done{};
}

/// `name "label" { ... }` is an object with the label as the name of an object.
result<placed> labelled(std::span<const std::string> keys, const hcl::value& v) {
  if (keys.size() == 1)
    return value_of(keys.front(), v);
  auto inner = labelled(keys.subspan(1), v);
  if (!inner)
    return inner;
  placed outer{json::object(), {inner->locations.at, {}, {}}};
  outer.is.get_object()[keys[1]] = std::move(inner->is);
  outer.locations.members[keys[1]] = std::move(inner->locations);
  return as_block(keys.front(), std::move(outer));
}

result<placed> object_of(const hcl::object& o, const hcl::position& at) {
  placed out{json::object(), location_of(at)};
  for (const auto& item : o.items) {
    auto v = labelled(item.keys, item.is);
    if (!v)
      return v;
    if (auto s = join(item.keys.front(), item.at, out.is.get_object(), out.locations, std::move(*v)); !s)
      return s.reason();
  }
  return out;
}

result<placed> list_of(std::string_view name, const hcl::value& v) {
  const auto& list = std::get<hcl::list>(v.is);
  const bool of_objects = !list.empty() && std::holds_alternative<hcl::object>(list.front().is);
  if (of_objects && !is_list_of_objects(name)) {
    if (list.size() > 1)
      return wrong(v.at, std::string(name) + " is a list of " + std::to_string(list.size()) +
                             " objects; exactly one is allowed");
    return value_of(name, list.front());
  }
  placed out{json::array(), location_of(v.at)};
  for (const auto& each : list) {
    const auto* o = std::get_if<hcl::object>(&each.is);
    auto element = o != nullptr ? object_of(*o, each.at) : value_of(name, each);
    if (!element)
      return element;
    out.is.get_array().push_back(std::move(element->is));
    out.locations.elements.push_back(std::move(element->locations));
  }
  return out;
}

result<placed> value_of(std::string_view name, const hcl::value& v) {
  const auto plain = [&](json::value is) -> result<placed> { return placed{std::move(is), location_of(v.at)}; };
  return std::visit(overloaded{
                        [&](const std::string& text) { return plain(json::value(text)); },
                        [&](bool b) { return plain(json::value(b)); },
                        [&](const hcl::number& n) -> result<placed> {
                          const auto placed_as = [&](const auto& read) {
                            return read ? plain(json::value(*read)) : wrong(v.at, read.error());
                          };
                          return n.is_integer ? placed_as(hcl::as_integer(n)) : placed_as(hcl::as_real(n));
                        },
                        [&](const hcl::list&) { return list_of(name, v); },
                        [&](const hcl::object& o) -> result<placed> {
                          auto inner = object_of(o, v.at);
                          if (!inner)
                            return inner;
                          return as_block(name, std::move(*inner));
                        },
                    },
                    v.is);
}

} // namespace

config_text_result parse_config_hcl(std::string_view text) {
  if (const auto first = text.find_first_not_of(" \t\r\n"); first != text.npos && text[first] == '{')
    return parse_config_json(text);
  const auto parsed = hcl::parse(text);
  if (const auto* e = std::get_if<hcl::error>(&parsed))
    return config_text_error{hcl::shown(*e), {}};
  auto read = object_of(std::get<hcl::object>(parsed), {1, 1});
  if (!read)
    return config_text_error{read.error(), {}};
  return config_text{std::move(read->is.get_object()), std::move(read->locations)};
}

} // namespace belay::actors
