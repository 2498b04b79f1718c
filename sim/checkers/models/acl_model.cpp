#include "sim/checkers/models/acl_model.hpp"

#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using level = acl_rule::level;

// docs/contract/10, sections 1 and 5.
constexpr std::string_view management_id = "00000000-0000-0000-0000-000000000001";
constexpr std::string_view nobodys_accessor = "00000000-0000-0000-0000-000000000002";
constexpr std::string_view nobodys_secret = "anonymous";

constexpr std::string_view named_resources[] = {"key", "session", "node"};
constexpr std::string_view plain_resources[] = {"operator", "acl"};

bool begins_with(std::string_view name, std::string_view prefix) {
  return name.substr(0, prefix.size()) == prefix;
}

std::string in_lower_case(std::string text) {
  for (char& c : text)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_one_of(std::string_view word, const auto& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::optional<level> level_named(std::string_view word) {
  constexpr std::string_view names[] = {"deny", "read", "list", "write"};
  const auto it = std::find(std::begin(names), std::end(names), word);
  return it == std::end(names) ? std::nullopt : std::optional(static_cast<level>(it - std::begin(names)));
}

/// Removes and returns the text up to `end`, and removes `end`. nullopt: there is no `end`.
std::optional<std::string_view> take(std::string_view& text, std::string_view end) {
  const auto at = text.find(end);
  if (at == std::string_view::npos)
    return std::nullopt;
  const auto taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

std::optional<acl_rule> read_rule(std::string_view line) {
  acl_rule r;
  std::optional<std::string_view> word, name, access_level;
  if (auto rest = line; line.find('{') == std::string_view::npos) { // operator = "read"
    word = take(rest, " = \"");
    access_level = take(rest, "\"");
    if (!word || !access_level || !rest.empty() || !is_one_of(*word, plain_resources))
      return std::nullopt;
  } else { // key_prefix "k/" { policy = "write" }
    word = take(rest, " \"");
    name = take(rest, "\" { policy = \"");
    access_level = take(rest, "\" }");
    if (!word || !name || !access_level || !rest.empty())
      return std::nullopt;
    constexpr std::string_view ending = "_prefix";
    r.prefix = word->size() > ending.size() && word->substr(word->size() - ending.size()) == ending;
    if (r.prefix)
      word->remove_suffix(ending.size());
    r.name = *name;
    if (!is_one_of(*word, named_resources))
      return std::nullopt;
  }
  r.resource = *word;
  const auto found = level_named(*access_level);
  if (!found || (*found == level::list && r.resource != "key"))
    return std::nullopt;
  r.access_level = *found;
  return r;
}

std::vector<acl_rule> rules_of_management() {
  std::vector<acl_rule> all;
  for (const auto word : named_resources)
    all.push_back({std::string(word), true, {}, level::write});
  for (const auto word : plain_resources)
    all.push_back({std::string(word), false, {}, level::write});
  return all;
}

/// Among rules for the same thing, deny takes precedence, then write, list, read.
level stronger(std::optional<level> a, level b) {
  if (!a)
    return b;
  return *a == level::deny || b == level::deny ? level::deny : std::max(*a, b);
}

state::reply refused(std::string text = {}) {
  return state::refusal{std::move(text)};
}

template <class Rows>
bool is_named(const Rows& rows, const std::string& name, const std::string& but) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const auto& each) { return each.first != but && each.second.name == name; });
}

/// The IDs of linked rows. @returns what is wrong
template <class Rows>
std::optional<state::reply> resolve(const Rows& rows, const std::vector<state::acl_link>& links,
                                    const std::string& kind, std::vector<std::string>& ids) {
  ids.clear();
  for (const auto& link : links) {
    const auto it = link.id.empty() ? std::find_if(rows.begin(), rows.end(),
                                                   [&](const auto& each) { return each.second.name == link.name; })
                                    : rows.find(link.id);
    if (it == rows.end())
      return refused("No such ACL " + kind + (link.id.empty() ? " with name \"" + link.name : " with ID \"" + link.id) +
                     "\"");
    ids.push_back(it->first);
  }
  return std::nullopt;
}

} // namespace

std::optional<std::vector<acl_rule>> read_acl_rules(std::string_view text) {
  std::vector<acl_rule> rules;
  while (const auto line = take(text, "\n")) {
    auto rule = read_rule(*line);
    if (!rule)
      return std::nullopt;
    rules.push_back(std::move(*rule));
  }
  return text.empty() ? std::optional(std::move(rules)) : std::nullopt;
}

// ---- permissions

/// docs/contract/10, section 2: an exact rule precedes all prefixes, a longer one a shorter one.
bool acl_rights::allows(std::string_view resource, std::string_view name, level wanted) const {
  std::optional<level> exact;
  for (const auto& r : rules_)
    if (r.resource == resource && !r.prefix && r.name == name)
      exact = stronger(exact, r.access_level);
  if (!exact)
    exact = by_longest_prefix(resource, name);
  return exact ? *exact >= wanted : allowed_by_default_;
}

std::optional<level> acl_rights::by_longest_prefix(std::string_view resource, std::string_view name) const {
  std::optional<level> found;
  std::size_t longest = 0;
  for (const auto& r : rules_) {
    if (r.resource != resource || !r.prefix || !begins_with(name, r.name) || (found && r.name.size() < longest))
      continue;
    found = found && r.name.size() == longest ? stronger(found, r.access_level) : r.access_level;
    longest = r.name.size();
  }
  return found;
}

bool acl_rights::removes_tree(std::string_view prefix) const {
  const auto above = by_longest_prefix("key", prefix);
  if (above ? *above != level::write : !allowed_by_default_)
    return false;
  // For each rule, the strongest of all policies decides.
  return std::all_of(rules_.begin(), rules_.end(), [&](const acl_rule& r) {
    if (r.resource != "key" || !begins_with(r.name, prefix))
      return true;
    std::optional<level> all;
    for (const auto& same : rules_)
      if (same.resource == "key" && same.prefix == r.prefix && same.name == r.name)
        all = stronger(all, same.access_level);
    return *all == level::write;
  });
}

bool acl_rights::writes_acls() const {
  std::optional<level> found;
  for (const auto& r : rules_)
    if (r.resource == "acl")
      found = stronger(found, r.access_level);
  return found == level::write;
}

// ---- policies, roles, tokens

bool acl_model::pass_time(log_index at, cluster_time now) {
  clock_ = now;
  const auto over = [now](const auto& each) { return !each.second.expires.is_zero() && each.second.expires <= now; };
  if (std::none_of(now_->tokens.begin(), now_->tokens.end(), over))
    return false;
  PROBE("permissions: a token is over");
  auto next = *now_;
  std::erase_if(next.tokens, over);
  keep(std::move(next), at);
  return true;
}

std::optional<state::reply> acl_model::apply(const state::command& c, log_index at, cluster_time now) {
  clock_ = now;
  names_its_client_ = c.client_address.has_value();
  auto next = *now_;
  auto answer =
      std::visit([&](const auto& each) { return run(next, each); }, static_cast<const state::plain_command&>(c));
  if (answer && !std::holds_alternative<state::refusal>(*answer))
    keep(std::move(next), at);
  return answer;
}

void acl_model::go_back(log_index archive, log_index at, cluster_time now) {
  auto next = *this->at(archive);
  for (auto& [accessor, t] : next.tokens)
    if (!t.expires.is_zero())
      t.expires = std::min(t.expires, cluster_time{now.value + t.lives_ms});
  std::erase_if(next.tokens,
                [now](const auto& each) { return !each.second.expires.is_zero() && each.second.expires <= now; });
  keep(std::move(next), at);
}

std::optional<state::reply> acl_model::run(tables& t, const state::acl_initialize& c) {
  t.initialized = true;
  t.policies.try_emplace(std::string(management_id), policy{"global-management", rules_of_management()});
  t.tokens.try_emplace(std::string(nobodys_accessor),
                       token{std::string(nobodys_accessor), std::string(nobodys_secret), {}, {}, {}, 0});
  if (!c.master_secret.empty() && std::none_of(t.tokens.begin(), t.tokens.end(),
                                               [&](const auto& each) { return each.second.secret == c.master_secret; }))
    t.tokens.try_emplace(c.master_accessor,
                         token{c.master_accessor, c.master_secret, {std::string(management_id)}, {}, {}, 0});
  return state::reply{true};
}

std::optional<state::reply> acl_model::run(tables& t, const state::acl_policy_set& c) {
  const auto& p = c.policy;
  const auto known = t.policies.find(p.id);
  if (c.fresh && known != t.policies.end()) // the same request again
    return state::reply{state::acl_row{}};
  if (!c.fresh && known == t.policies.end())
    return refused("cannot find policy " + p.id);
  if (is_named(t.policies, p.name, p.id))
    return c.fresh ? refused("Invalid Policy: A Policy with Name \"" + p.name + "\" already exists") : refused();
  auto rules = read_acl_rules(p.rules);
  if (!rules || p.id == management_id)
    return refused();
  t.policies[p.id] = {p.name, std::move(*rules)};
  return state::reply{state::acl_row{}};
}

std::optional<state::reply> acl_model::run(tables& t, const state::acl_policy_delete& c) {
  if (c.id == management_id)
    return refused("Delete operation not permitted on the builtin global-management policy");
  t.policies.erase(c.id);
  return state::reply{true};
}

std::optional<state::reply> acl_model::run(tables& t, const state::acl_role_set& c) {
  const auto& r = c.role;
  const auto known = t.roles.find(r.id);
  if (c.fresh && known != t.roles.end())
    return state::reply{state::acl_row{}};
  if ((!c.fresh && known == t.roles.end()) || is_named(t.roles, r.name, r.id))
    return refused();
  role next{r.name, {}};
  if (auto wrong = resolve(t.policies, c.policies, "policy", next.policies))
    return wrong;
  t.roles[r.id] = std::move(next);
  return state::reply{state::acl_row{}};
}

std::optional<state::reply> acl_model::run(tables& t, const state::acl_role_delete& c) {
  t.roles.erase(c.id);
  return state::reply{true};
}

std::optional<state::reply> acl_model::run(tables& t, const state::acl_token_set& c) {
  constexpr std::int64_t ns_per_ms = 1'000'000;
  const auto id = in_lower_case(c.token.accessor);
  const auto known = t.tokens.find(id);
  token next;
  if (c.fresh) {
    if (known != t.tokens.end())
      return refused("Invalid Token: AccessorID is already in use");
    if (std::any_of(t.tokens.begin(), t.tokens.end(),
                    [&](const auto& each) { return each.second.secret == c.token.secret; }))
      return refused("Invalid Token: SecretID is already in use");
    next.secret = c.token.secret;
    next.shown = names_its_client_ ? c.token.accessor : id;
    if (c.lives_ns > 0) {
      next.lives_ms = static_cast<std::uint64_t>(c.lives_ns / ns_per_ms);
      next.expires = cluster_time{clock_.value + static_cast<std::uint64_t>((c.lives_ns + ns_per_ms - 1) / ns_per_ms)};
    }
  } else {
    if (known == t.tokens.end())
      return refused("Cannot find token \"" + c.token.accessor + "\"");
    if (c.lives_ns != 0 || c.token.expiration_time_ns != 0)
      return refused();
    next = known->second;
  }
  if (auto wrong = resolve(t.policies, c.policies, "policy", next.policies))
    return wrong;
  if (auto wrong = resolve(t.roles, c.roles, "role", next.roles))
    return wrong;
  auto shown = std::make_shared<state::acl_token>();
  shown->accessor = next.shown;
  t.tokens[id] = std::move(next);
  return state::reply{state::acl_row{std::move(shown), {}, {}}};
}

std::optional<state::reply> acl_model::run(tables& t, const state::acl_token_delete& c) {
  if (c.accessor == nobodys_accessor)
    return refused("Delete operation not permitted on the anonymous token");
  t.tokens.erase(in_lower_case(c.accessor));
  return state::reply{true};
}

void acl_model::keep(tables next, log_index at) {
  now_ = std::make_shared<const tables>(std::move(next));
  since_[at] = now_;
  all_.push_back(now_);
}

acl_model::tables_ptr acl_model::at(log_index s) const {
  const auto later = since_.upper_bound(s);
  return later == since_.begin() ? std::make_shared<const tables>() : std::prev(later)->second;
}

// ---- any moment

acl_rights_ptr acl_model::rights_of(const state::auth_context& who, log_index s) const {
  const auto later = since_.upper_bound(s);
  static const tables none;
  return rights_in(later == since_.begin() ? none : *std::prev(later)->second, who);
}

bool acl_model::ends_one_day(std::string_view secret, log_index s) const {
  const auto then = at(s);
  return std::any_of(then->tokens.begin(), then->tokens.end(),
                     [&](const auto& each) { return each.second.secret == secret && !each.second.expires.is_zero(); });
}

std::optional<std::string> acl_model::owner_in(const tables& t, std::string_view secret) {
  for (const auto& [id, token] : t.tokens)
    if (token.secret == secret)
      return token.shown;
  return !t.initialized && secret == nobodys_secret ? std::optional(std::string(state::anonymous_accessor))
                                                    : std::nullopt;
}

acl_rights_ptr acl_model::rights_in(const tables& t, const state::auth_context& who) const {
  auto& known = known_[{&t, {who.secret, who.allowed_by_default}}];
  if (known)
    return known;
  const auto found = std::find_if(t.tokens.begin(), t.tokens.end(),
                                  [&](const auto& each) { return each.second.secret == who.secret; });
  if (found == t.tokens.end()) {
    if (t.initialized || who.secret != nobodys_secret)
      return nullptr;
    return std::make_shared<const acl_rights>(std::vector<acl_rule>{}, who.allowed_by_default);
  }
  // Each policy once; deleted ones have no effect.
  std::set<std::string> ids(found->second.policies.begin(), found->second.policies.end());
  for (const auto& id : found->second.roles)
    if (const auto role = t.roles.find(id); role != t.roles.end())
      ids.insert(role->second.policies.begin(), role->second.policies.end());
  std::vector<acl_rule> rules;
  for (const auto& id : ids)
    if (const auto p = t.policies.find(id); p != t.policies.end())
      rules.insert(rules.end(), p->second.rules.begin(), p->second.rules.end());
  known = std::make_shared<const acl_rights>(std::move(rules), who.allowed_by_default);
  return known;
}

} // namespace belay::sim
