#include "actors/audit/token_owners.hpp"

#include "protocol/base/secrets.hpp"
#include "protocol/state/row_hash.hpp"

#include <utility>

namespace belay::actors {

namespace {

// A token never changes its accessor, but it may be deleted, and its description may change.
constexpr std::chrono::seconds known_for{1};
constexpr std::size_t known_max = 1000;
// Lookups that take longer are given up. The tables usually answer at once.
constexpr std::chrono::seconds timeout{5};

token_owner owner_in(const read_result& r) {
  const auto* found = r.found();
  const auto* answer = found != nullptr ? std::get_if<state::permissions>(&found->data) : nullptr;
  if (answer == nullptr || answer->token == nullptr)
    return {};
  const auto& t = *answer->token;
  return {t.accessor, t.description, t.create_time_ns};
}

/// Uses the hash of the tables.
std::uint64_t hash_of(std::string_view secret) {
  state::row_hasher h(state::table::acl_tokens);
  h.text(secret);
  return h.value();
}

} // namespace

void token_owners::ask(const state::auth_context& by, monotonic_time now, owner_found then) {
  const auto hash = hash_of(by.secret);
  if (const auto it = known_.find(hash);
      it != known_.end() && is_secret(it->second.secret, by.secret) && now - it->second.since < known_for)
    return then(it->second.owner);
  if (const auto it = requested_by_secret_.find(hash); it != requested_by_secret_.end())
    if (auto& same = requested_.at(it->second); is_secret(same.secret, by.secret)) {
      same.waiting.push_back(std::move(then));
      return;
    }
  read_query q{pending_.unclaimed_id(), {}, {}};
  q.request.mode = http::consistency::stale;
  q.request.query = state::permissions_read{};
  q.request.query.by = by;
  requested_by_secret_.emplace(hash, q.id);
  auto& question = requested_[q.id];
  question.secret = by.secret;
  question.since = now;
  question.waiting.push_back(std::move(then));
  out_.post(std::move(q));
}

void token_owners::ask_for_accessor(const std::string& accessor, monotonic_time now, received_whether then) {
  read_query q{pending_.unclaimed_id(), {}, {}};
  q.request.mode = http::consistency::stale;
  q.request.query = state::acl_token_read{accessor};
  accessors_.emplace(q.id, accessor_question{now, std::move(then)});
  out_.post(std::move(q));
}

bool token_owners::answered(const read_result& r, monotonic_time now) {
  if (const auto at = accessors_.find(r.id); at != accessors_.end()) {
    const auto then = std::move(at->second.then);
    accessors_.erase(at);
    const auto* found = r.found();
    const auto* rows = found != nullptr ? std::get_if<state::acl_rows>(&found->data) : nullptr;
    then(rows != nullptr && !rows->list.empty());
    return true;
  }
  const auto it = requested_.find(r.id);
  if (it == requested_.end())
    return false;
  auto question = std::move(it->second);
  requested_.erase(it);
  forget(r.id, question.secret);
  const auto owner = owner_in(r);
  if (known_.size() >= known_max)
    known_.clear();
  if (!owner.accessor.empty()) { // an unknown token may be created at any moment
    const auto hash = hash_of(question.secret);
    known_.insert_or_assign(hash, known{std::move(question.secret), owner, now});
  }
  for (auto& then : question.waiting)
    then(owner);
  return true;
}

void token_owners::forget(request_id id, const std::string& secret) {
  if (const auto it = requested_by_secret_.find(hash_of(secret)); it != requested_by_secret_.end() && it->second == id)
    requested_by_secret_.erase(it);
}

void token_owners::tick(monotonic_time now) {
  std::erase_if(known_, [now](const auto& each) { return now - each.second.since >= known_for; });
  give_up(now - timeout);
}

void token_owners::close() {
  give_up(monotonic_time::max());
}

void token_owners::give_up(monotonic_time requested_before) {
  std::vector<owner_found> given_up;
  std::erase_if(requested_, [&](auto& each) {
    auto& question = each.second;
    if (question.since > requested_before)
      return false;
    forget(each.first, question.secret);
    for (auto& then : question.waiting)
      given_up.push_back(std::move(then));
    return true;
  });
  std::vector<received_whether> not_found;
  std::erase_if(accessors_, [&](auto& each) {
    if (each.second.since > requested_before)
      return false;
    not_found.push_back(std::move(each.second.then));
    return true;
  });
  for (auto& then : given_up)
    then({});
  for (auto& then : not_found)
    then(false);
}

} // namespace belay::actors
