#include "actors/node/config/hcl.hpp"

#include "actors/node/config/json.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/hcl/parser.hpp"
#include "protocol/hcl/reading.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <span>

namespace belay::actors {

namespace {

namespace json = boost::json;

/// Blocks of these names are elements of a list, even if there is only one.
bool is_list_of_objects(std::string_view name) {
  static constexpr std::string_view names[] = {"bootstrap", "checks",    "paths",  "segments",
                                               "services",  "upstreams", "watches"};
  return std::any_of(std::begin(names), std::end(names),
                     [name](std::string_view listed) { return equal_ignoring_case(name, listed); });
}

failure wrong(const hcl::position& at, std::string what) {
  return failure{hcl::shown({at, std::move(what), hcl::error::placed::after_at})};
}

result<json::value> value_of(std::string_view name, const hcl::value& v);

/// Of a block, and of a list that holds but one: what stands in a list of objects stays there.
result<json::value> as_block(std::string_view name, json::value object) {
  if (!is_list_of_objects(name))
    return object;
  json::array one;
  one.push_back(std::move(object));
  return json::value(std::move(one));
}

/// Another block of the same name, or a value that replaces what was said before.
status join(std::string_view name, const hcl::position& at, json::object& into, json::value v) {
  auto& there = into[name];
  if (there.is_array() && v.is_array() && is_list_of_objects(name)) {
    for (auto& each : v.get_array())
      there.get_array().push_back(std::move(each));
  } else if (there.is_object() && v.is_object()) {
    return wrong(at, std::string(name) + " is given twice: write one block");
  } else {
    there = std::move(v);
  }
  return done{};
}

/// `name "label" { ... }` is an object with the label as the name of an object.
result<json::value> labelled(std::span<const std::string> keys, const hcl::value& v) {
  if (keys.size() == 1)
    return value_of(keys.front(), v);
  auto inner = labelled(keys.subspan(1), v);
  if (!inner)
    return inner;
  json::object outer;
  outer[keys[1]] = std::move(*inner);
  return as_block(keys.front(), std::move(outer));
}

result<json::object> object_of(const hcl::object& o) {
  json::object out;
  for (const auto& item : o.items) {
    auto v = labelled(item.keys, item.is);
    if (!v)
      return v.why();
    if (auto s = join(item.keys.front(), item.at, out, std::move(*v)); !s)
      return s.why();
  }
  return out;
}

result<json::value> list_of(std::string_view name, const hcl::value& v) {
  const auto& list = std::get<hcl::list>(v.is);
  const bool of_objects = !list.empty() && std::holds_alternative<hcl::object>(list.front().is);
  if (of_objects && !is_list_of_objects(name)) {
    if (list.size() > 1)
      return wrong(v.at,
                   std::string(name) + " is a list of " + std::to_string(list.size()) + " objects: one is expected");
    return value_of(name, list.front());
  }
  json::array out;
  for (const auto& each : list) {
    if (const auto* o = std::get_if<hcl::object>(&each.is)) {
      auto element = object_of(*o);
      if (!element)
        return element.why();
      out.push_back(std::move(*element));
    } else {
      auto element = value_of(name, each);
      if (!element)
        return element;
      out.push_back(std::move(*element));
    }
  }
  return json::value(std::move(out));
}

result<json::value> value_of(std::string_view name, const hcl::value& v) {
  return std::visit(overloaded{
                        [](const std::string& text) -> result<json::value> { return json::value(text); },
                        [](bool b) -> result<json::value> { return json::value(b); },
                        [&](const hcl::number& n) -> result<json::value> {
                          if (n.is_integer) {
                            const auto whole = hcl::as_integer(v);
                            return whole ? result<json::value>(json::value(*whole)) : wrong(v.at, whole.error());
                          }
                          const auto real = hcl::as_real(v);
                          return real ? result<json::value>(json::value(*real)) : wrong(v.at, real.error());
                        },
                        [&](const hcl::list&) { return list_of(name, v); },
                        [&](const hcl::object& o) -> result<json::value> {
                          auto inner = object_of(o);
                          return inner ? as_block(name, std::move(*inner)) : inner.why();
                        },
                    },
                    v.is);
}

} // namespace

result<boost::json::object> parse_config_hcl(std::string_view text) {
  if (const auto first = text.find_first_not_of(" \t\r\n"); first != text.npos && text[first] == '{')
    return parse_config_json(text);
  const auto parsed = hcl::parse(text);
  if (const auto* e = std::get_if<hcl::error>(&parsed))
    return failure{hcl::shown(*e)};
  return object_of(std::get<hcl::object>(parsed));
}

} // namespace belay::actors
