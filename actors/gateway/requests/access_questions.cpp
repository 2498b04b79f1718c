#include "actors/gateway/requests/access_questions.hpp"

#include "actors/gateway/requests/answers.hpp"
#include "protocol/agent/agent_permissions.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/base/secrets.hpp"
#include "protocol/state/acl/permissions.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace belay::actors {

namespace {

using acl::permission;
using state::permission_needed;
using questions = std::vector<permission_needed>;
using of = permission_needed::of;

questions one(of what, permission level, std::string name = {}) {
  return {{what, level, std::move(name), false}};
}

/// The permissions that the request needs; nullopt: they are not checked here.
std::optional<questions> needed_by(const exchange& e, const std::string& node) {
  if (const auto* renewal = std::get_if<http::session_renew>(&e.what))
    return one(of::session_owner, permission::write, renewal->id);
  if (const auto* renewals = std::get_if<http::session_renew_list>(&e.what)) {
    questions all;
    for (const auto& id : renewals->ids)
      all.push_back({of::session_owner, permission::write, id, false});
    return all;
  }
  // Other permissions depend on the body, which is not parsed: check only that the token exists.
  if (std::holds_alternative<std::unique_ptr<const unread_request>>(e.what) &&
      (e.needs == http::access::by_state || e.needs == http::access::by_agent ||
       e.needs == http::access::coordinate_write))
    return questions{};
  switch (e.needs) {
  case http::access::unrestricted:
    return std::nullopt;
  case http::access::by_state:
    if (std::holds_alternative<state::command>(e.what) || std::holds_alternative<http::read_request>(e.what) ||
        std::holds_alternative<http::change_stream>(e.what))
      return std::nullopt;
    break;
  case http::access::by_agent:
    if (std::holds_alternative<http::agent_request>(e.what))
      return questions{};
    break;
  case http::access::members:
    return questions{};
  case http::access::agent_read:
    return one(of::agent, permission::read, node);
  case http::access::agent_write:
    return one(of::agent, permission::write, node);
  case http::access::node_write:
    return one(of::node, permission::write, node);
  case http::access::coordinate_write:
    if (const auto* update = std::get_if<http::local_request>(&e.what))
      return one(of::node, permission::write, update->coordinate.node);
    break;
  case http::access::operator_read:
    return one(of::operators, permission::read);
  case http::access::operator_write:
    return one(of::operators, permission::write);
  case http::access::keyring_read:
    return one(of::keyring, permission::read);
  case http::access::keyring_write:
    return one(of::keyring, permission::write);
  case http::access::acl_read:
    return one(of::acl, permission::read);
  case http::access::acl_write:
    break;
  }
  return one(of::acl, permission::write);
}

bool concerns_agent(http::access needs) {
  return needs == http::access::agent_read || needs == http::access::agent_write || needs == http::access::node_write ||
         needs == http::access::by_agent || needs == http::access::members;
}

/// Whether stale tables suffice: for this server itself, which works without a leader, and with
/// `?stale`. (A session that these tables lack would be open to all, and the leader renews it.)
bool may_be_behind(const exchange& e) {
  if (const auto* local = std::get_if<http::local_request>(&e.what))
    return local->stale || concerns_agent(e.needs);
  if (const auto* save = std::get_if<http::snapshot_save>(&e.what))
    return save->stale;
  return concerns_agent(e.needs) && !std::holds_alternative<http::session_renew>(e.what) &&
         !std::holds_alternative<http::session_renew_list>(e.what);
}

/// Call it only for what concerns_agent().
bool allows(const acl::authorizer& may, const permission_needed& q) {
  return q.what == of::agent ? may.allows(acl::resource::agent, q.level, q.name)
                             : q.what == of::node && may.allows(acl::resource::node, q.level, q.name);
}

acl::authorizer authorizer_of_agent_master(const std::string& node) {
  acl::rules r;
  r.named.push_back({acl::resource::agent, acl::match::exact, node, permission::write});
  r.named.push_back({acl::resource::node, acl::match::prefix, "", permission::read});
  const acl::rules* const all[] = {&r};
  return acl::authorizer(all, acl::default_policy::deny);
}

} // namespace

access_questions::access_questions(outbox& out, pending_requests& pending, answer_times times, std::string node,
                                   std::shared_ptr<const agent_tokens> tokens)
    : out_(out), pending_(pending), times_(times), node_(std::move(node)), tokens_(std::move(tokens)),
      agent_master_may_(std::make_shared<const acl::authorizer>(authorizer_of_agent_master(node_))) {}

bool access_questions::begin(exchange& e, monotonic_time now) {
  auto& a = e.access;
  if (!e.by || a.granted)
    return true;
  auto needed = needed_by(e, node_);
  if (!needed) {
    a.granted = true;
    return true;
  }
  a.needed = std::move(*needed);
  if (concerns_agent(e.needs) && is_secret(tokens_->now().agent_master, e.by->secret)) {
    authorize_as_agent_master(e);
    return a.granted;
  }
  ask(e, may_be_behind(e) ? http::consistency::stale : http::consistency::normal, now);
  return false;
}

void access_questions::authorize_as_agent_master(exchange& e) const {
  const auto& needed = e.access.needed;
  const auto& may = *agent_master_may_;
  if (std::all_of(needed.begin(), needed.end(), [&](const permission_needed& q) { return allows(may, q); })) {
    e.access.decided_here = true;
    granted(e, agent_master_may_);
  } else {
    e.answer = http::error_response(403, std::string(state::permission_denied));
  }
}

void access_questions::ask(exchange& e, http::consistency mode, monotonic_time now) {
  auto& a = e.access;
  a.requested = true;
  if (a.since == monotonic_time{})
    a.since = now;
  a.by_tables_behind = mode == http::consistency::stale;
  read_query q{pending_.add(e, times_.due(now)), {}, {}};
  q.request.query = state::permissions_read{a.needed};
  q.request.query.by = e.by;
  q.request.mode = mode;
  out_.post(std::move(q));
}

bool access_questions::refused(exchange& e, std::string text, monotonic_time now) {
  if (e.access.by_tables_behind) {
    PROBE("gateway: permission asked for again");
    ask(e, http::consistency::normal, now);
  } else {
    e.access.agent_responded.reset();
    e.answer = http::error_response(500, std::move(text)); // 403 if it is about permissions
  }
  return false;
}

bool access_questions::granted(exchange& e, std::shared_ptr<const acl::authorizer> may) const {
  auto& a = e.access;
  a.granted = true;
  a.may = std::move(may);
  e.deadline = {};
  return true;
}

bool access_questions::answered(exchange& e, const read_result& r, monotonic_time now) {
  auto& a = e.access;
  a.requested = false;
  const auto* result = r.found();
  a.known_index = result != nullptr ? result->index.value : 0;
  if (result == nullptr) {
    a.agent_responded.reset();
    e.answer = http::error_response(500, std::get<failure>(r.answer).text);
    return false;
  }
  if (const auto* no = std::get_if<state::refusal>(&result->data))
    return refused(e, no->text, now);
  const auto* response = std::get_if<state::permissions>(&result->data);
  const bool all = response != nullptr && response->may != nullptr && response->allowed.size() == a.needed.size() &&
                   std::all_of(response->allowed.begin(), response->allowed.end(), [](bool each) { return each; });
  if (!all)
    return refused(e, std::string(state::permission_denied), now);
  granted(e, response->may);
  if (!a.agent_responded)
    return true;
  // The reply was known; only the visible part of it was not.
  agent::reply reply = std::move(*std::exchange(a.agent_responded, nullptr));
  agent::keep_visible(reply, node_, *a.may);
  e.answer = answer_to(e, {e.id, std::move(reply)});
  return false;
}

bool access_questions::agent_answered(exchange& e, agent::reply& reply, monotonic_time now) {
  auto& a = e.access;
  if (!e.by || a.decided_here)
    return true;
  const auto* no = std::get_if<agent::refused>(&reply);
  if (no != nullptr && no->status == 403 && a.by_tables_behind) { // nothing was done
    a.granted = false;
    ask(e, http::consistency::normal, now);
    return false;
  }
  if (no != nullptr || !e.blocking())
    return true;
  a.agent_responded = std::make_unique<agent::reply>(std::move(reply));
  ask(e, http::consistency::stale, now);
  return false;
}

} // namespace belay::actors
