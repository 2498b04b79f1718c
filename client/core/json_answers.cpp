#include "client/core/json_answers.hpp"

#include <boost/json.hpp>

#include <array>
#include <charconv>

namespace belay {
inline namespace v0 {
namespace detail {

namespace json = boost::json;

namespace {

std::optional<json::value> parsed(std::string_view body) {
  boost::system::error_code failed;
  auto v = json::parse({body.data(), body.size()}, failed);
  if (failed)
    return std::nullopt;
  return v;
}

std::string text_at(const json::object& o, std::string_view name) {
  auto* v = o.if_contains({name.data(), name.size()});
  return v && v->is_string() ? std::string(v->get_string()) : std::string();
}

std::uint64_t number_at(const json::object& o, std::string_view name) {
  auto* v = o.if_contains({name.data(), name.size()});
  if (!v)
    return 0;
  if (v->is_uint64())
    return v->get_uint64();
  return v->is_int64() && v->get_int64() > 0 ? static_cast<std::uint64_t>(v->get_int64()) : 0;
}

} // namespace

std::optional<std::string> id_in(std::string_view body) {
  auto v = parsed(body);
  if (!v || !v->is_object())
    return std::nullopt;
  auto id = text_at(v->get_object(), "ID");
  if (id.empty())
    return std::nullopt;
  return id;
}

std::optional<std::string> cause_in(std::string_view body) {
  auto v = parsed(body);
  if (!v || !v->is_object())
    return std::nullopt;
  auto cause = text_at(v->get_object(), "Cause");
  if (cause.empty())
    return std::nullopt;
  return cause;
}

std::optional<std::vector<entry>> entries_in(std::string_view body) {
  auto v = parsed(body);
  if (!v || !v->is_array())
    return std::nullopt;
  std::vector<entry> out;
  for (const auto& each : v->get_array()) {
    if (!each.is_object())
      return std::nullopt;
    const auto& o = each.get_object();
    entry e;
    e.key = text_at(o, "Key");
    e.value = base64_decoded(text_at(o, "Value"));
    e.flags = number_at(o, "Flags");
    e.session = text_at(o, "Session");
    e.index = number_at(o, "ModifyIndex");
    e.created = number_at(o, "CreateIndex");
    out.push_back(std::move(e));
  }
  return out;
}

std::optional<std::vector<key_change>> changes_in(std::string_view body) {
  auto v = parsed(body);
  if (!v || !v->is_array())
    return std::nullopt;
  std::vector<key_change> out;
  for (const auto& each : v->get_array()) {
    auto event = each.is_object() ? text_at(each.get_object(), "Event") : std::string();
    if (event != "set" && event != "delete" && event != "expired")
      return std::nullopt;
    const auto& o = each.get_object();
    key_change c;
    c.kind = event == "set" ? change_kind::set : event == "delete" ? change_kind::erased : change_kind::expired;
    c.cursor = text_at(o, "ID");
    c.key = text_at(o, "Key");
    c.value = base64_decoded(text_at(o, "Value"));
    c.flags = number_at(o, "Flags");
    c.session = text_at(o, "Session");
    c.previous_index = number_at(o, "PreviousIndex");
    c.index = number_at(o, "Index");
    out.push_back(std::move(c));
  }
  return out;
}

std::optional<claim_state> claim_in(std::string_view body) {
  auto v = parsed(body);
  if (!v || !v->is_object())
    return std::nullopt;
  const auto& o = v->get_object();
  auto state = text_at(o, "State");
  if (state != "held" && state != "waiting")
    return std::nullopt;
  claim_state out;
  out.held = state == "held";
  out.fence = number_at(o, "Fence");
  return out;
}

std::optional<claim_holder> first_holder_in(std::string_view body) {
  auto v = parsed(body);
  if (!v || !v->is_object())
    return std::nullopt;
  claim_holder out;
  auto* holders = v->get_object().if_contains("Holders");
  if (!holders || !holders->is_array() || holders->get_array().empty() || !holders->get_array()[0].is_object())
    return out;
  const auto& o = holders->get_array()[0].get_object();
  out.id = text_at(o, "ID");
  out.session = text_at(o, "Session");
  out.fence = number_at(o, "Fence");
  out.value = base64_decoded(text_at(o, "Value"));
  return out;
}

std::optional<slot_table> slots_in(std::string_view text) {
  auto v = parsed(text);
  if (!v || !v->is_object())
    return std::nullopt;
  slot_table out;
  out.limit = number_at(v->get_object(), "Limit");
  auto* holders = v->get_object().if_contains("Holders");
  if (holders && holders->is_object()) {
    for (const auto& [session, held] : holders->get_object())
      if (!held.is_bool() || held.get_bool())
        out.holders.emplace_back(session);
  } else if (holders && !holders->is_null()) {
    return std::nullopt;
  }
  return out;
}

std::string text_of(const slot_table& slots) {
  json::object holders;
  for (const auto& session : slots.holders)
    holders[session] = true;
  json::object all;
  all["Limit"] = slots.limit;
  all["Holders"] = std::move(holders);
  return json::serialize(all);
}

txn_failure txn_failure_in(std::string_view body) {
  txn_failure out;
  auto v = parsed(body);
  if (!v || !v->is_object())
    return out;
  auto* errors = v->get_object().if_contains("Errors");
  if (!errors || !errors->is_array())
    return out;
  for (const auto& each : errors->get_array()) {
    auto what = each.is_object() ? text_at(each.get_object(), "What") : std::string();
    if (out.text.empty())
      out.text = what;
    (what.find("doesn't exist") != what.npos ? out.absent : out.index) = true;
    if (each.is_object())
      out.operations.push_back(static_cast<std::size_t>(number_at(each.get_object(), "OpIndex")));
  }
  return out;
}

std::uint64_t index_of_result(std::string_view body, std::string_view key) {
  auto v = parsed(body);
  auto* results = v && v->is_object() ? v->get_object().if_contains("Results") : nullptr;
  if (!results || !results->is_array())
    return 0;
  std::uint64_t out = 0;
  for (const auto& each : results->get_array()) {
    auto* kv = each.is_object() ? each.get_object().if_contains("KV") : nullptr;
    if (kv && kv->is_object() && text_at(kv->get_object(), "Key") == key)
      out = number_at(kv->get_object(), "ModifyIndex");
  }
  return out;
}

std::optional<write_outcome> outcome_in(const answer& a) {
  auto v = a.status() == 200 ? parsed(a.body()) : std::nullopt;
  if (!v || !v->is_object())
    return std::nullopt;
  const auto& o = v->get_object();
  auto state = text_at(o, "State");
  if (state != "done" && state != "cancelled" && state != "void") // void: before 0.3.0
    return std::nullopt;
  write_outcome out;
  out.done = state == "done";
  out.answered = answer(static_cast<int>(number_at(o, "Status")), text_at(o, "Body"));
  auto why = text_at(o, "Reason");
  if (!why.empty())
    out.answered.add_header("X-Belay-Reason", why);
  return out;
}

std::optional<text_rows> rows_in(std::string_view text) {
  auto v = parsed(text);
  if (!v || !v->is_array())
    return std::nullopt;
  text_rows out;
  for (const auto& row : v->get_array()) {
    if (!row.is_array())
      return std::nullopt;
    out.emplace_back();
    for (const auto& field : row.get_array()) {
      if (!field.is_string())
        return std::nullopt;
      out.back().emplace_back(field.get_string());
    }
  }
  return out;
}

std::string text_of(const text_rows& rows) {
  json::array out;
  for (const auto& row : rows) {
    json::array fields;
    for (const auto& field : row)
      fields.emplace_back(field);
    out.push_back(std::move(fields));
  }
  return json::serialize(out);
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t n = 0;
  auto [end, ok] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ok != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return n;
}

bool is_ambiguous(std::string_view key) {
  return key.find("\xEF\xBF\xBD") != key.npos;
}

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64_encoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    unsigned n = 0;
    for (std::size_t j = 0; j < 3; ++j)
      n = n << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= text.size() - i ? base64_digits[n >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string base64_decoded(std::string_view text) {
  static const auto values = [] {
    std::array<signed char, 256> t{};
    t.fill(-1);
    for (std::size_t i = 0; i < base64_digits.size(); ++i)
      t[static_cast<unsigned char>(base64_digits[i])] = static_cast<signed char>(i);
    return t;
  }();
  std::string out;
  unsigned bits = 0;
  int have = 0;
  for (unsigned char c : text) {
    if (values[c] < 0)
      continue;
    bits = (bits << 6 | static_cast<unsigned>(values[c])) & 0xffffff;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have & 0xff);
    }
  }
  return out;
}

std::string quoted_json(std::string_view text) {
  return json::serialize(json::string_view(text.data(), text.size()));
}

} // namespace detail
} // namespace v0
} // namespace belay
