#include "tests/contract/matcher.hpp"

#include "tests/harness/base64.hpp"

#include <charconv>
#include <optional>
#include <regex>

namespace belay::contract {

using harness::base64_decoded;
using harness::base64_encoded;

namespace {

constexpr const char* uuid_regex = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
constexpr const char* time_regex = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)";

bool is_integer(const json::value& v) {
  return v.is_int64() || v.is_uint64();
}

bool equal_integers(const json::value& a, const json::value& b) {
  auto wide = [](const json::value& v) { return v.is_int64() ? __int128(v.get_int64()) : __int128(v.get_uint64()); };
  return wide(a) == wide(b);
}

/// Compares values that are not collections: an integer is never a fraction, 1 is not true.
bool equal_values(const json::value& a, const json::value& b) {
  if (is_integer(a) && is_integer(b))
    return equal_integers(a, b);
  return a.kind() == b.kind() && a == b;
}

std::optional<std::uint64_t> index_in(const json::value& v) {
  if (is_integer(v)) {
    boost::system::error_code ec;
    auto n = v.to_number<std::uint64_t>(ec);
    return ec ? std::nullopt : std::optional(n);
  }
  if (!v.is_string())
    return std::nullopt;
  std::string_view text = v.get_string();
  std::uint64_t n = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  return ec == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

std::string quoted_for_regex(const json::value& value) {
  std::string out;
  for (char c : plain_text(value)) {
    if (std::string_view("\\^$.|?*+()[]{}-/").find(c) != std::string_view::npos)
      out += '\\';
    out += c;
  }
  return out;
}

/// The single member of `{"~kind": ...}`; null if `v` is anything else.
const json::key_value_pair* collection_matcher(const json::value& v) {
  const auto* object = v.if_object();
  if (!object || object->size() != 1 || !std::string_view(object->begin()->key()).starts_with("~"))
    return nullptr;
  return object->begin();
}

bool valid_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    std::size_t more = c < 0x80                ? 0
                       : c >= 0xc2 && c < 0xe0 ? 1
                       : c >= 0xe0 && c < 0xf0 ? 2
                       : c >= 0xf0 && c < 0xf5 ? 3
                                               : 9;
    if (more == 9 || i + more >= s.size() + (more == 0))
      return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(s[i + k]) & 0xc0) != 0x80)
        return false;
    i += more + 1;
  }
  return true;
}

} // namespace

void matcher::complain(const std::string& where, const std::string& what) {
  out_.push_back(where + ": " + what);
}

bool matcher::attempt(const json::value& expected, const json::value& got) {
  matcher trial(base_);
  trial.seen_ = seen_;
  trial.env_ = env_;
  trial.compare(expected, got, "");
  if (!trial.out_.empty())
    return false;
  seen_ = trial.seen_;
  return true;
}

void matcher::compare_index(std::string_view symbol, const json::value& got, const std::string& where) {
  auto index = index_in(got);
  if (!index)
    return complain(where, "expected an index, got " + brief(got));
  auto relation = *index > base_ ? "newer" : "not newer";
  if ((symbol == "old") != (*index <= base_))
    return complain(where, "index " + std::to_string(*index) + " is " + relation + " than the transcript's start (" +
                               std::to_string(base_) + "), which ~idx:" + std::string(symbol) + " must not be");
  if (symbol == "old")
    return;
  auto rank = std::stoull(std::string(symbol));
  for (auto [other_rank, other] : seen_)
    if ((other_rank < rank) != (other < *index) || (other_rank == rank) != (other == *index))
      return complain(where, "this index (~idx:" + std::to_string(rank) + ") is " + std::to_string(*index) +
                                 " and must be " +
                                 (other_rank == rank  ? "equal to"
                                  : other_rank < rank ? "greater than"
                                                      : "less than") +
                                 " ~idx:" + std::to_string(other_rank) + ", which was " + std::to_string(other));
  seen_[rank] = *index;
}

void matcher::compare_members(const json::object& expected, const json::object& got, const std::string& where,
                              bool others) {
  json::object filled;
  for (const auto& [key, member] : expected)
    filled[fill_text(key, *env_)] = member;
  for (const auto& [key, member] : filled) {
    const auto* found = got.if_contains(key);
    if (found)
      compare(member, *found, where + "." + std::string(key));
    else
      complain(where, "field " + std::string(key) + " is missing (expected " + brief(member) + ")");
  }
  if (!others)
    for (const auto& [key, member] : got)
      if (!filled.contains(key))
        complain(where, "unexpected field " + std::string(key) + " = " + brief(member));
}

void matcher::compare_list(const json::array& expected, const json::array& got, const std::string& where) {
  if (expected.size() != got.size())
    return complain(where, "expected " + std::to_string(expected.size()) + " elements " + brief(expected) + ", got " +
                               std::to_string(got.size()) + ": " + brief(got));
  for (std::size_t i = 0; i < expected.size(); ++i)
    compare(expected[i], got[i], where + "[" + std::to_string(i) + "]");
}

void matcher::compare_pattern(std::string_view expected, const json::value& got, const std::string& where) {
  auto colon = expected.find(':');
  auto kind = expected.substr(1, colon == expected.npos ? expected.npos : colon - 1);
  auto arg = colon == expected.npos ? std::string_view() : expected.substr(colon + 1);
  if (kind == "idx")
    return compare_index(arg, got, where);
  bool ok = false;
  if (kind == "any") {
    ok = true;
  } else if (kind == "lit") {
    ok = got.is_string() && got.get_string() == arg;
  } else if (kind == "has") {
    ok = got.is_string() && std::string_view(got.get_string()).find(fill_text(arg, *env_)) != std::string_view::npos;
  } else if (kind == "uuid" || kind == "time" || kind == "re") {
    auto text = kind == "uuid" ? uuid_regex : kind == "time" ? time_regex : fill_text(arg, *env_, quoted_for_regex);
    ok = got.is_string() && std::regex_match(plain_text(got), std::regex(text));
  } else {
    throw problem("unknown matcher " + std::string(expected));
  }
  if (!ok)
    complain(where, "expected " + std::string(expected) + ", got " + brief(got));
}

void matcher::compare_some(std::string_view kind, const json::array& expected, const json::array& got,
                           const std::string& where) {
  if (kind == "~unordered" && expected.size() != got.size())
    return complain(where, "expected " + std::to_string(expected.size()) + " elements, got " +
                               std::to_string(got.size()) + ": " + brief(got));
  std::vector<bool> taken(got.size(), false);
  for (const auto& w : expected) {
    std::size_t hit = 0;
    while (hit < got.size() && (taken[hit] || !attempt(w, got[hit])))
      ++hit;
    if (hit < got.size())
      taken[hit] = true;
    else
      complain(where, "no element matches " + brief(w) + " in " + brief(got));
  }
}

void matcher::compare_collection(std::string_view kind, const json::value& arg, const json::value& got,
                                 const std::string& where) {
  if (kind == "~fields") {
    if (!got.is_object())
      return complain(where, "expected an object, got " + brief(got));
    compare_members(arg.as_object(), got.get_object(), where, true);
  } else if (kind == "~contains" || kind == "~unordered") {
    if (!got.is_array())
      return complain(where, "expected a list, got " + brief(got));
    compare_some(kind, arg.as_array(), got.get_array(), where);
  } else if (kind == "~lacks" && got.is_object()) {
    for (const auto& name : arg.as_array())
      if (got.get_object().contains(fill_text(plain_text(name), *env_)))
        complain(where, "field " + plain_text(name) + " must be absent");
  } else if (kind == "~lacks" && got.is_array()) {
    for (const auto& w : arg.as_array())
      for (const auto& g : got.get_array()) {
        auto before = seen_;
        if (attempt(w, g))
          complain(where, "must not contain " + brief(w));
        seen_ = before;
      }
  } else if (kind == "~lacks") {
    complain(where, "expected an object or a list, got " + brief(got));
  } else {
    throw problem("unknown matcher " + std::string(kind));
  }
}

void matcher::compare(const json::value& expected, const json::value& got, const std::string& where) {
  if (const auto* special = collection_matcher(expected)) {
    compare_collection(special->key(), special->value(), got, where);
  } else if (expected.is_string() && std::string_view(expected.get_string()).starts_with("~")) {
    compare_pattern(expected.get_string(), got, where);
  } else if (expected.is_object()) {
    if (!got.is_object())
      return complain(where, "expected an object, got " + brief(got));
    compare_members(expected.get_object(), got.get_object(), where, false);
  } else if (expected.is_array()) {
    if (!got.is_array())
      return complain(where, "expected a list, got " + brief(got));
    compare_list(expected.get_array(), got.get_array(), where);
  } else {
    auto filled = fill(expected, *env_);
    if (!equal_values(filled, got))
      complain(where, "expected " + brief(filled) + ", got " + brief(got));
  }
}

std::vector<std::string> matcher::value(const json::value& expected, const json::value& got, const variables& env) {
  out_.clear();
  env_ = &env;
  compare(expected, got, "value");
  return std::move(out_);
}

std::vector<std::string> matcher::reply(const json::object& expected, const harness::http_reply& got,
                                        const variables& env) {
  out_.clear();
  env_ = &env;
  if (!got.error.empty())
    return {"no answer: " + got.error};
  auto text = valid_utf8(got.body) ? json::value(got.body) : json::value(nullptr);
  if (const auto* status = expected.if_contains("status"); status && !equal_values(*status, got.status))
    complain("status",
             "expected " + brief(*status) + ", got " + std::to_string(got.status) + " (body " + brief(text) + ")");
  if (const auto* headers = expected.if_contains("headers"))
    for (const auto& [name, w] : headers->as_object()) {
      auto where = "header " + std::string(name);
      const auto* found = got.header(name);
      if (w.is_null() && found)
        complain(where, "must be absent, got " + *found);
      else if (!w.is_null() && !found)
        complain(where, "is missing (expected " + brief(w) + ")");
      else if (!w.is_null())
        compare(w, json::value(*found), where);
    }
  if (const auto* w = expected.if_contains("json")) {
    std::optional<json::value> body;
    try {
      body = parse_json(got.body);
    } catch (const problem& e) {
      complain("body", std::string("expected JSON: ") + e.what() + ": " + brief(text));
    }
    if (body)
      compare(*w, *body, "body");
  }
  if (const auto* w = expected.if_contains("text"))
    compare(*w, text, "body");
  if (const auto* w = expected.if_contains("b64"); w && base64_decoded(plain_text(*w)) != got.body)
    complain("body", "expected the bytes " + plain_text(*w) + ", got " + base64_encoded(got.body.substr(0, 200)));
  if (const auto* w = expected.if_contains("size"); w && !equal_values(*w, json::value(got.body.size())))
    complain("body", "expected " + brief(*w) + " bytes, got " + std::to_string(got.body.size()));
  return std::move(out_);
}

} // namespace belay::contract
