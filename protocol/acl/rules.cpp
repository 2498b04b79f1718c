#include "protocol/acl/rules.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/hcl/parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace belay::acl {
namespace {

/// A word that begins named rules, with the Go name and first
/// field of Consul's structure, as shown in error texts.
struct rule_word {
  std::string_view word;
  resource on;
  match by;
  std::string_view go_type;
  std::string_view go_name;
  bool enterprise; ///< Go's struct ends with a field of the enterprise build
};

// In the order in which Consul reads and checks them: it
// reports the first error in this order, not in text order.
constexpr std::array<rule_word, 2 * resource_count> rule_words = {{
    {"agent", resource::agent, match::exact, "AgentRule", "Node", false},
    {"agent_prefix", resource::agent, match::prefix, "AgentRule", "Node", false},
    {"key", resource::key, match::exact, "KeyRule", "Prefix", true},
    {"key_prefix", resource::key, match::prefix, "KeyRule", "Prefix", true},
    {"node", resource::node, match::exact, "NodeRule", "Name", true},
    {"node_prefix", resource::node, match::prefix, "NodeRule", "Name", true},
    {"service", resource::service, match::exact, "ServiceRule", "Name", true},
    {"service_prefix", resource::service, match::prefix, "ServiceRule", "Name", true},
    {"session", resource::session, match::exact, "SessionRule", "Node", false},
    {"session_prefix", resource::session, match::prefix, "SessionRule", "Node", false},
    {"event", resource::event, match::exact, "EventRule", "Event", false},
    {"event_prefix", resource::event, match::prefix, "EventRule", "Event", false},
    {"query", resource::query, match::exact, "PreparedQueryRule", "Prefix", false},
    {"query_prefix", resource::query, match::prefix, "PreparedQueryRule", "Prefix", false},
}};

std::optional<permission> permission_named(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, permission>, 4> words = {{{"deny", permission::deny},
                                                                             {"read", permission::read},
                                                                             {"list", permission::list},
                                                                             {"write", permission::write}}};
  for (const auto& [word, meaning] : words)
    if (equal_ignoring_case(text, word))
      return meaning;
  return std::nullopt;
}

failure misread(hcl::position at, std::string_view what) {
  return {"Failed to parse ACL rules: At " + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
          std::string(what)};
}

/// Go's type name of a value in its parser's tree, as shown in Consul's errors.
std::string_view go_type(const hcl::value& v) {
  if (std::holds_alternative<hcl::object>(v.is))
    return "*ast.ObjectList";
  return std::holds_alternative<hcl::list>(v.is) ? "*ast.ListType" : "*ast.LiteralType";
}

/// Reads a text; a whole number becomes its text as written.
result<std::string> text_of(const hcl::value& v, const std::string& field) {
  if (const auto* text = std::get_if<std::string>(&v.is))
    return *text;
  const auto* n = std::get_if<hcl::number>(&v.is);
  if (n && n->is_integer)
    return n->text;
  const auto* o = std::get_if<hcl::object>(&v.is);
  const auto at = o && !o->items.empty() ? o->items.front().at : v.at;
  return misread(at, field + ": unknown type for string " + std::string(go_type(v)));
}

/// A list of one or more objects and nothing else; in JSON: the same name given several times.
const hcl::list* list_of_objects(const hcl::value& v) {
  const auto* l = std::get_if<hcl::list>(&v.is);
  const auto is_object = [](const hcl::value& e) { return std::holds_alternative<hcl::object>(e.is); };
  return l && !l->empty() && std::all_of(l->begin(), l->end(), is_object) ? l : nullptr;
}

/// A rule before its policy is validated.
struct raw_rule {
  const rule_word* word = nullptr;
  std::string name, policy, intentions;
};

struct raw_rules {
  std::vector<raw_rule> named;
  std::string on_acl, on_keyring, on_operator;
};

/// `acl = "read"`, anywhere in the document; the last one counts.
status read_scalar(const hcl::object& document, std::string_view word, std::string& out) {
  for (const auto& item : document.items) {
    if (!equal_ignoring_case(item.keys.front(), word))
      continue;
    const std::string field = "root." + std::string(word);
    if (item.keys.size() > 1)
      return misread(item.at, field + ": unknown type for string *ast.ObjectList");
    auto text = text_of(item.is, field);
    if (!text)
      return text.reason();
    out = std::move(*text);
  }
  return done{};
}

/// Reads the rules that begin with one word as Consul's decoder would, including odd input.
class word_reader {
public:
  word_reader(const rule_word& word, std::vector<raw_rule>& out) : word_(word), out_(out) {}

  status read(const hcl::object& document) {
    for (const auto& item : document.items) // key "a" { ... }
      if (item.keys.size() > 1 && begins_with_word(item))
        if (auto s = read_rule(item, 1); !s)
          return s;
    for (const auto& item : document.items) // key { "a" { ... } }
      if (item.keys.size() == 1 && begins_with_word(item))
        if (auto s = read_block(item.is); !s)
          return s;
    return done{};
  }

private:
  bool begins_with_word(const hcl::item& item) const { return equal_ignoring_case(item.keys.front(), word_.word); }

  /// The current rule as errors name it: root.key[2]
  std::string field() const { return "root." + std::string(word_.word) + "[" + std::to_string(index_) + "]"; }

  status read_block(const hcl::value& block) {
    index_ = 0;
    if (const auto* o = std::get_if<hcl::object>(&block.is))
      return read_items(*o);
    const auto* l = std::get_if<hcl::list>(&block.is);
    if (!l)
      return misread(block.at, "unknown slice type: *ast.LiteralType");
    for (const auto& element : *l) {
      const auto* o = std::get_if<hcl::object>(&element.is);
      if (!o)
        return misread(element.at, field() + ": not an object type for struct (" + std::string(go_type(element)) + ")");
      if (auto s = read_items(*o); !s)
        return s;
    }
    return done{};
  }

  status read_items(const hcl::object& o) {
    for (const auto& item : o.items)
      if (auto s = read_rule(item, 0); !s)
        return s;
    return done{};
  }

  /// The rule's name is the one at `first` among the item's.
  status read_rule(const hcl::item& item, std::size_t first) {
    if (const auto* bodies = list_of_objects(item.is)) {
      for (const auto& body : *bodies)
        if (auto s = read_body(item, first, body); !s)
          return s;
      return done{};
    }
    return read_body(item, first, item.is);
  }

  status read_body(const hcl::item& item, std::size_t first, const hcl::value& body) {
    if (std::holds_alternative<hcl::list>(body.is))
      return misread(body.at, field() + ": not an object type for struct (*ast.ListType)");
    raw_rule r{&word_, item.keys[first], {}, {}};
    status read = read_member(item, first, body, "Policy", r.policy);
    if (read && word_.on == resource::service)
      read = read_member(item, first, body, "Intentions", r.intentions);
    if (read) {
      out_.push_back(std::move(r));
      ++index_;
    }
    return read;
  }

  status read_member(const hcl::item& item, std::size_t first, const hcl::value& body, std::string_view name,
                     std::string& out) const {
    const auto take = [&](std::string_view found, bool more_names, hcl::position at, const hcl::value& v) -> status {
      if (!equal_ignoring_case(found, name))
        return done{};
      const std::string member = field() + "." + std::string(name);
      if (more_names)
        return misread(at, member + ": unknown type for string *ast.ObjectList");
      auto text = text_of(v, member);
      if (!text)
        return text.reason();
      out = std::move(*text);
      return done{};
    };
    const auto* o = std::get_if<hcl::object>(&body.is);
    if (!o) // key { policy = "read" } is a rule for the key "policy"
      return take(item.keys[first], false, item.at, body);
    if (item.keys.size() == first + 2) // key "a" "b" { ... } has one member, b
      return take(item.keys[first + 1], false, item.at, body);
    for (const auto& member : o->items)
      if (auto s = take(member.keys.front(), member.keys.size() > 1, member.at, member.is); !s)
        return s;
    return done{};
  }

  const rule_word& word_;
  std::vector<raw_rule>& out_;
  std::size_t index_ = 0;
};

result<raw_rules> read_raw(const hcl::object& document) {
  raw_rules raw;
  if (auto s = read_scalar(document, "acl", raw.on_acl); !s)
    return s.reason();
  for (const auto& word : rule_words)
    if (auto s = word_reader(word, raw.named).read(document); !s)
      return s.reason();
  if (auto s = read_scalar(document, "keyring", raw.on_keyring); !s)
    return s.reason();
  if (auto s = read_scalar(document, "operator", raw.on_operator); !s)
    return s.reason();
  return raw;
}

/// Go's text: `&acl.KeyRule{Prefix:"x", Policy:"zz", EnterpriseRule:acl.EnterpriseRule{}}`
std::string go_text(const raw_rule& r) {
  std::string out = "&acl." + std::string(r.word->go_type) + "{" + std::string(r.word->go_name) + ":" +
                    go_compat::quoted(r.name) + ", Policy:" + go_compat::quoted(r.policy);
  if (r.word->on == resource::service)
    out += ", Intentions:" + go_compat::quoted(r.intentions);
  if (r.word->enterprise)
    out += ", EnterpriseRule:acl.EnterpriseRule{}";
  return out + "}";
}

bool is_policy(std::string_view text, bool or_list) {
  const auto meant = permission_named(text);
  return meant && (*meant != permission::list || or_list);
}

/// A scalar may be missing; empty means the same.
status check_scalar(std::string_view word, const std::string& text, std::optional<permission>& out) {
  if (text.empty())
    return done{};
  if (!is_policy(text, false))
    return failure{"Invalid " + std::string(word) + " policy: " + go_compat::quoted(text)};
  out = permission_named(text);
  return done{};
}

status check_rule(const raw_rule& r) {
  if (!is_policy(r.policy, r.word->on == resource::key))
    return failure{"Invalid " + std::string(r.word->word) + " policy: " + go_text(r)};
  if (!r.intentions.empty() && !is_policy(r.intentions, false))
    return failure{"Invalid " + std::string(r.word->word) + " intentions policy: " + go_text(r)};
  return done{};
}

} // namespace

result<rules> read_rules(const hcl::object& document) {
  auto raw = read_raw(document);
  if (!raw)
    return raw.reason();
  rules out;
  if (auto s = check_scalar("acl", raw->on_acl, out.on_acl); !s)
    return s.reason();
  out.named.reserve(raw->named.size());
  for (auto& r : raw->named) {
    if (auto s = check_rule(r); !s)
      return s.reason();
    out.named.push_back({r.word->on, r.word->by, std::move(r.name), *permission_named(r.policy)});
  }
  if (auto s = check_scalar("keyring", raw->on_keyring, out.on_keyring); !s)
    return s.reason();
  if (auto s = check_scalar("operator", raw->on_operator, out.on_operator); !s)
    return s.reason();
  return out;
}

result<rules> read_rules(std::string_view text) {
  const auto parsed = hcl::parse(text);
  if (const auto* wrong = std::get_if<hcl::error>(&parsed))
    return failure{"Failed to parse ACL rules: " + hcl::shown(*wrong)};
  return read_rules(std::get<hcl::object>(parsed));
}

} // namespace belay::acl
