#include "protocol/filter/comparison.hpp"

#include "protocol/filter/literal.hpp"
#include "protocol/filter/row_filter.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <cstring>

namespace belay::filter {

namespace {

bool allows(field_kind kind, match_operator op) {
  const bool equality = op == match_operator::equal || op == match_operator::not_equal;
  const bool containment = op == match_operator::in || op == match_operator::not_in;
  const bool emptiness = !takes_value(op);
  switch (kind) {
  case field_kind::text:
    return !emptiness;
  case field_kind::integer:
  case field_kind::natural:
  case field_kind::boolean:
    return equality;
  case field_kind::texts:
  case field_kind::text_map:
  case field_kind::object_map:
    return containment || emptiness;
  case field_kind::objects:
    return emptiness;
  case field_kind::object:
    break;
  }
  return false;
}

const field* find_field(fields of, std::string_view name) {
  const auto found = std::find_if(of.begin(), of.end(), [&](const field& f) { return f.name == name; });
  return found == of.end() ? nullptr : &*found;
}

// In units of bytes that memmem searches: 0.08 to 1.2 ns each, by repetition of
// the text in the value (measured with 500 KB). The other costs are estimates.
constexpr std::size_t cost_of_comparison = 64, cost_of_element = 16, cost_of_parsed_byte = 16,
                      cost_of_matched_byte = 10;

bool is_map(field_kind kind) {
  return kind == field_kind::text_map || kind == field_kind::object_map;
}

} // namespace

result<comparison> comparison::bind(const match& m, fields of) {
  comparison c;
  c.op_ = m.op;
  c.negative_ = is_negative(m.op);
  c.text_ = m.value;
  // In this order, as several may be wrong at once.
  if (auto ok = c.bind_selector(m, of); !ok)
    return ok.reason();
  if (!allows(c.kind_, m.op))
    return failure{"Invalid match operator " + go_compat::quoted(name_of(m.op)) + " for selector " +
                   go_compat::quoted(to_string(m.selector))};
  if (auto ok = c.bind_value(m); !ok)
    return ok.reason();
  if (auto ok = c.bind_pattern(m); !ok)
    return ok.reason();
  return c;
}

status comparison::bind_selector(const match& m, fields of) {
  bool behind_map = false;
  for (std::size_t i = 0; i < m.selector.size(); ++i) {
    const auto& name = m.selector[i];
    if (behind_map) {
      path_.push_back({nullptr, name});
      kind_ = kind_ == field_kind::text_map ? field_kind::text : field_kind::object;
      behind_map = false;
      continue;
    }
    const auto* f = find_field(of, name);
    if (f == nullptr)
      return failure{
          "Selector " +
          go_compat::quoted(to_string({m.selector.begin(), m.selector.begin() + static_cast<std::ptrdiff_t>(i + 1)})) +
          " is not valid"};
    path_.push_back({f, {}});
    kind_ = f->kind;
    of = f->fields;
    behind_map = is_map(kind_);
  }
  return done{};
}

status comparison::bind_value(const match& m) {
  if (!takes_value(m.op))
    return done{};
  const auto keep = [&](auto read) -> status {
    if (!read)
      return failure{"Failed to coerce value " + go_compat::quoted(m.value) + " for selector " +
                     go_compat::quoted(to_string(m.selector)) + ": " + read.error()};
    number_ = *read;
    return done{};
  };
  switch (kind_) {
  case field_kind::integer:
    return keep(read_integer(m.value));
  case field_kind::natural:
    return keep(read_natural(m.value));
  case field_kind::boolean:
    return keep(read_boolean(m.value));
  default:
    return done{};
  }
}

status comparison::bind_pattern(const match& m) {
  if (m.op != match_operator::matches && m.op != match_operator::not_matches)
    return done{};
  if (m.value.size() > pattern_bytes_max)
    return failure{"regular expression is longer than " + std::to_string(pattern_bytes_max) + " bytes"};
  auto compiled = go_compat::regular_expression::compile(m.value);
  if (!compiled)
    return failure{"Failed to compile regular expression " + go_compat::quoted(m.value) +
                   ": error parsing regexp: " + compiled.error()};
  pattern_ = std::move(*compiled);
  return done{};
}

bool comparison::of_row(const void* row, std::size_t depth, filter_work& work) const {
  const auto* f = path_[depth].field;
  INVARIANT(f != nullptr);
  if (!work.spend(cost_of_comparison))
    return false;
  return of_value(f->read(row), depth + 1, work);
}

/// Compares a field by its kind. Lists, maps and objects consume the next part of the selector,
/// `path_[depth]`; at its end the comparison is about their presence or size. Also false if the
/// work exceeds its limit, which the caller checks.
bool comparison::of_value(const field_value& v, std::size_t depth, filter_work& work) const {
  const bool at_end = depth == path_.size();
  if (const auto* text = std::get_if<std::string_view>(&v))
    return of_text(*text, work);
  if (const auto* n = std::get_if<std::int64_t>(&v))
    return of_integer(*n);
  if (const auto* n = std::get_if<std::uint64_t>(&v))
    return of_natural(*n);
  if (const auto* b = std::get_if<bool>(&v))
    return of_boolean(*b);
  if (const auto* list = std::get_if<const text_list*>(&v)) {
    if (!takes_value(op_))
      return of_size(*list ? (*list)->size() : 0);
    if (*list && !work.spend(cost_of_element * (*list)->size()))
      return false;
    return of_presence(*list && std::find((*list)->begin(), (*list)->end(), text_) != (*list)->end());
  }
  if (const auto* map = std::get_if<const text_map*>(&v)) {
    if (!at_end) {
      const auto* entries = *map;
      if (entries == nullptr)
        return of_missing_key();
      const auto found = entries->find(path_[depth].key);
      return found == entries->end() ? of_missing_key() : of_text(found->second, work);
    }
    return takes_value(op_) ? of_presence(*map && (*map)->count(text_) != 0) : of_size(*map ? (*map)->size() : 0);
  }
  if (const auto* object = std::get_if<row_ref>(&v))
    return of_row(object->row, depth, work);
  if (const auto* list = std::get_if<row_list>(&v)) {
    if (at_end)
      return of_size(list->size);
    // "Not" applies to the element: `Checks.Status != passing` means that one is not passing.
    for (std::size_t i = 0; i < list->size; ++i)
      if (of_row(list->at(list->list, i).row, depth, work))
        return true;
    return false;
  }
  if (const auto* map = std::get_if<row_map>(&v)) {
    const auto find = [&](std::string_view key) { return map->map ? map->find(map->map, key).row : nullptr; };
    if (at_end)
      return takes_value(op_) ? of_presence(find(text_) != nullptr) : of_size(map->size);
    const auto* row = find(path_[depth].key);
    return row ? of_row(row, depth + 1, work) : of_missing_key();
  }
  const auto json = std::get<json_object>(v).text;
  if (!work.spend(cost_of_parsed_byte * json.size()))
    return false;
  boost::system::error_code error;
  const auto parsed = boost::json::parse(json, error);
  return of_json(error ? nullptr : &parsed, field_kind::object, depth, work);
}

bool comparison::of_json(const boost::json::value* v, field_kind kind, std::size_t depth, filter_work& work) const {
  if (kind == field_kind::objects) {
    const auto* list = v ? v->if_array() : nullptr;
    if (depth == path_.size())
      return of_size(list ? list->size() : 0);
    return list && std::any_of(list->begin(), list->end(),
                               [&](const auto& each) { return of_json(&each, field_kind::object, depth, work); });
  }
  if (depth < path_.size()) {
    const auto& f = *path_[depth].field;
    const auto* object = v ? v->if_object() : nullptr;
    return of_json(object ? object->if_contains(f.name) : nullptr, f.kind, depth + 1, work);
  }
  if (kind == field_kind::boolean)
    return of_boolean(v && v->is_bool() && v->get_bool());
  if (kind == field_kind::integer)
    return of_integer(v && v->is_int64() ? v->get_int64() : 0);
  const auto* text = v ? v->if_string() : nullptr;
  return of_text(text ? std::string_view(text->data(), text->size()) : std::string_view(), work);
}

/// A missing key equals nothing, is in nothing and matches nothing.
/// (Only in Consul 1.8 does `matches` hold then, not in later versions.)
bool comparison::of_missing_key() const {
  return op_ == match_operator::is_empty || (negative_ && op_ != match_operator::is_not_empty);
}

bool comparison::of_text(std::string_view text, filter_work& work) const {
  const bool contains = op_ == match_operator::in || op_ == match_operator::not_in;
  const auto examined = contains || pattern_ || text.size() == text_.size() ? text.size() : 0;
  if (!work.spend((pattern_ ? cost_of_matched_byte : 1) * examined))
    return false;
  if (pattern_)
    return unless_negative(pattern_->matches(text));
  if (contains) // std::string_view::find is ten times slower if the first character is frequent
    return of_presence(::memmem(text.data(), text.size(), text_.data(), text_.size()) != nullptr);
  return unless_negative(text == text_);
}

bool comparison::of_integer(std::int64_t n) const {
  return unless_negative(n == std::get<std::int64_t>(number_));
}

bool comparison::of_natural(std::uint64_t n) const {
  return unless_negative(n == std::get<std::uint64_t>(number_));
}

bool comparison::of_boolean(bool b) const {
  return unless_negative(b == std::get<bool>(number_));
}

bool comparison::of_size(std::size_t size) const {
  return unless_negative(size == 0);
}

bool comparison::of_presence(bool present) const {
  return unless_negative(present);
}

} // namespace belay::filter
