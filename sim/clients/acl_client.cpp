#include "sim/clients/acl_client.hpp"

#include "protocol/base/uuid.hpp"
#include "protocol/state/folded_name.hpp"
#include "sim/chance/drawn_parts.hpp"
#include "sim/environment/swarm.hpp"

#include <algorithm>
#include <utility>

namespace belay::sim {

namespace {

constexpr std::size_t policies_max = 4, roles_max = 2, tokens_max = 6;
constexpr std::uint64_t rules_max = 5;
// Above those of sessions (lock_client).
constexpr std::uint64_t ids_from = std::uint64_t{0xac1} << 48;
std::string in_capitals(std::string id) {
  std::transform(id.begin(), id.end(), id.begin(),
                 [](char x) { return x >= 'a' && x <= 'f' ? static_cast<char>(x - 'a' + 'A') : x; });
  return id;
}
constexpr auto never_made = "00000000-1111-2222-3333-444444444444";

enum class token_action : std::uint8_t {
  set_policy,
  remove_policy,
  set_role,
  remove_role,
  set_token,
  remove_token,
  change_nobody,
};
constexpr share<token_action> actions[] = {
    {token_action::set_policy, 10},   {token_action::remove_policy, 3}, {token_action::set_role, 4},
    {token_action::remove_role, 1},   {token_action::set_token, 8},     {token_action::remove_token, 4},
    {token_action::change_nobody, 2},
};
static_assert(numbers_of(actions) == kinds_max);

// ---- rules about names that other clients use

constexpr std::string_view key_prefixes[] = {"", "k/", "k/0/", "k/1/", "k/1", "c/", "l/", "p/", "g/"};
constexpr std::string_view keys[] = {"k/0/0", "k/1/1", "c/0", "l/0", "k/"};
constexpr std::string_view nodes[] = {"m0", "m1"};
constexpr std::string_view levels[] = {"write", "read", "write", "deny", "write", "read", "list", "write"};

/// Splits a drawn number into smaller numbers.
class parts {
public:
  explicit parts(std::uint64_t drawn) : left_(drawn * 0x9e3779b97f4a7c15) {}
  std::uint64_t next(std::uint64_t n) {
    left_ = left_ * 6364136223846793005 + 1442695040888963407;
    return (left_ >> 33) % n;
  }
  template <class T, std::size_t N>
  T one_of(const T (&all)[N]) {
    return all[next(N)];
  }

private:
  std::uint64_t left_;
};

std::string rule(std::string_view word, std::string_view name, std::string_view level) {
  return std::string(word) + " \"" + std::string(name) + "\" { policy = \"" + std::string(level) + "\" }\n";
}

std::string some_rules(std::uint64_t drawn) {
  parts of(drawn);
  std::string text;
  for (auto n = 1 + of.next(rules_max); n > 0; --n) {
    const auto level = of.one_of(levels);
    const auto of_node = level == "list" ? "read" : level;
    switch (of.next(8)) {
    case 0:
      text += rule("key", of.one_of(keys), level);
      break;
    case 1:
      text += rule("session_prefix", of.next(2) == 0 ? "" : "m", of_node);
      break;
    case 2:
      text += rule("session", of.one_of(nodes), of_node);
      break;
    case 3:
      text += rule("node_prefix", "", of_node);
      break;
    case 4:
      text += rule("node", of.one_of(nodes), of_node);
      break;
    default:
      text += rule("key_prefix", of.one_of(key_prefixes), level);
    }
  }
  if (of.next(8) == 0)
    text += of.next(2) == 0 ? "acl = \"write\"\n" : "operator = \"read\"\n";
  if (of.next(24) == 0) // not a policy: none of it has an effect
    text += rule("key", "k/0/0", "wirte");
  return text;
}

} // namespace

known_access::known_access() : policies_(policies_max), roles_(roles_max), tokens_(tokens_max) {}

std::string known_access::fresh_id() {
  return uuid_of(ids_from, ++ids_);
}

std::string known_access::token_of_client(std::uint64_t drawn, std::size_t client) const {
  const auto kind = kind_part(drawn);
  const auto known = [](const known_row& p) { return p.secret.empty() ? std::string(never_made) : p.secret; };
  if (kind < 10)
    return master_token;
  if (kind < 22)
    return known(tokens_[client % tokens_.size()]);
  if (kind < 26)
    return known(tokens_[key_part(drawn) % tokens_.size()]);
  if (kind < 29)
    return std::string(state::anonymous_secret);
  if (kind < 31 && !retired_.empty()) // one of the last few
    return retired_[retired_.size() - 1 - key_part(drawn) % std::min<std::size_t>(retired_.size(), 4)];
  return never_made;
}

/// A client must not delete its own token: another rule than those of permissions rejects that.
std::string known_access::token_of_manager(std::uint64_t drawn, const state::command& c) const {
  const auto& other = tokens_[key_part(drawn) % tokens_.size()].secret;
  const bool deletes = std::holds_alternative<state::acl_token_delete>(c);
  return deletes || other.empty() || kind_part(drawn) < 29 ? master_token : other;
}

state::command known_access::next(std::uint64_t drawn, std::uint64_t fresh) {
  switch (action_of(actions, kind_part(drawn))) {
  case token_action::set_policy:
    return set_policy(drawn, fresh);
  case token_action::remove_policy:
    return state::acl_policy_delete{past_id(policies_, drawn)};
  case token_action::set_role:
    return set_role(drawn, fresh);
  case token_action::remove_role:
    return state::acl_role_delete{past_id(roles_, drawn)};
  case token_action::set_token:
    return set_token(drawn, fresh);
  case token_action::remove_token:
    return state::acl_token_delete{fresh % 2 == 0 ? past_id(tokens_, drawn) : state::folded(past_id(tokens_, drawn))};
  case token_action::change_nobody:
    break;
  }
  return change_nobody(drawn, fresh);
}

/// Mostly the current one of that slot, sometimes an earlier one.
std::string known_access::past_id(const std::vector<known_row>& known_rows, std::uint64_t drawn) const {
  const auto& ids = known_rows[key_part(drawn) % known_rows.size()].ids;
  if (ids.empty())
    return never_made;
  const auto back = pause_part(drawn) % 4 == 0 ? spare_part(drawn) % ids.size() : 0;
  return ids[ids.size() - 1 - back];
}

std::vector<state::acl_link> known_access::some_policies(std::uint64_t drawn) const {
  std::vector<state::acl_link> links;
  for (std::size_t i = 0; i < policies_.size(); ++i)
    if (const auto& p = policies_[i]; p.there && (drawn >> i & 1) != 0)
      links.push_back(drawn % 3 == 0 ? state::acl_link{{}, "p-" + std::to_string(i)}
                                     : state::acl_link{p.ids.back(), {}});
  return links;
}

state::command known_access::set_policy(std::uint64_t drawn, std::uint64_t fresh) {
  const auto number = key_part(drawn) % policies_.size();
  auto& at = policies_[number];
  state::acl_policy_set c;
  c.fresh = !at.there;
  if (c.fresh)
    at.ids.push_back(fresh_id());
  c.policy.id = at.ids.back();
  c.policy.name = "p-" + std::to_string(number);
  c.policy.description = std::to_string(fresh);
  c.policy.rules = some_rules(drawn);
  return c;
}

state::command known_access::set_role(std::uint64_t drawn, std::uint64_t fresh) {
  const auto number = key_part(drawn) % roles_.size();
  auto& at = roles_[number];
  state::acl_role_set c;
  c.fresh = !at.there;
  if (c.fresh)
    at.ids.push_back(fresh_id());
  c.role.id = at.ids.back();
  c.role.name = "r-" + std::to_string(number);
  c.role.description = std::to_string(fresh);
  c.policies = some_policies(pause_part(drawn));
  return c;
}

state::command known_access::set_token(std::uint64_t drawn, std::uint64_t fresh) {
  auto& at = tokens_[key_part(drawn) % tokens_.size()];
  state::acl_token_set c;
  c.fresh = !at.there;
  if (c.fresh) {
    if (!at.secret.empty())
      retired_.push_back(at.secret);
    at.ids.push_back(fresh % 3 == 0 ? in_capitals(fresh_id()) : fresh_id());
    at.secret = fresh_id();
    c.token.secret = at.secret;
    constexpr std::int64_t lives_ms[] = {0, 0, 1'500, 0, 4'000};
    c.lives_ns = lives_ms[spare_part(drawn) % std::size(lives_ms)] * 1'000'000;
  }
  c.token.accessor = c.fresh || fresh % 2 == 0 ? at.ids.back() : state::folded(at.ids.back());
  c.token.description = std::to_string(fresh);
  c.policies = some_policies(pause_part(drawn));
  if (const auto& r = roles_[drawn / 7 % roles_.size()]; r.there && spare_part(drawn) % 2 == 0)
    c.roles.push_back({r.ids.back(), {}});
  return c;
}

/// Changes the permissions of requests without a token.
state::command known_access::change_nobody(std::uint64_t drawn, std::uint64_t fresh) const {
  state::acl_token_set c;
  c.token.accessor = state::anonymous_accessor;
  c.token.description = std::to_string(fresh);
  c.policies = some_policies(pause_part(drawn));
  return c;
}

/// An unknown outcome is taken as done. If it is not, the next change is rejected and reveals it.
void known_access::learn(const operation& o) {
  const bool refused =
      o.result == outcome::refused || (o.result == outcome::done && std::holds_alternative<state::refusal>(o.reply));
  const auto note = [&](std::vector<known_row>& known_rows, const std::string& id, bool there) {
    for (auto& p : known_rows)
      if (!p.ids.empty() && state::folded(p.ids.back()) == state::folded(id))
        p.there = there;
  };
  const auto set = [&](std::vector<known_row>& known_rows, const std::string& id) {
    const auto* no = std::get_if<state::refusal>(&o.reply);
    const bool gone = no != nullptr && (no->text.starts_with("cannot find") || no->text.starts_with("Cannot find"));
    if (!refused)
      note(known_rows, id, true);
    else if (gone)
      note(known_rows, id, false);
  };
  if (const auto* p = std::get_if<state::acl_policy_set>(&*o.write))
    set(policies_, p->policy.id);
  else if (const auto* r = std::get_if<state::acl_role_set>(&*o.write))
    set(roles_, r->role.id);
  else if (const auto* t = std::get_if<state::acl_token_set>(&*o.write))
    set(tokens_, t->token.accessor);
  else if (refused)
    return;
  else if (const auto* dp = std::get_if<state::acl_policy_delete>(&*o.write))
    note(policies_, dp->id, false);
  else if (const auto* dr = std::get_if<state::acl_role_delete>(&*o.write))
    note(roles_, dr->id, false);
  else if (const auto* dt = std::get_if<state::acl_token_delete>(&*o.write))
    note(tokens_, dt->accessor, false);
}

} // namespace belay::sim
