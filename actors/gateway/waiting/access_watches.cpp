#include "actors/gateway/waiting/access_watches.hpp"

#include "protocol/base/secrets.hpp"
#include "protocol/state/acl/permissions.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// A query that times out has the same result, and is repeated. This is the longest wait of clients'
// queries, too.
constexpr std::chrono::minutes requested_for{10};

} // namespace

void access_watches::begin(exchange& e, monotonic_time now) {
  e.access.watch = std::make_shared<access_watch>(access_watch{&e, e.access.known_index, now});
  due_.emplace(now, e.access.watch); // not at once: it may end in a moment
}

void access_watches::ask(const std::shared_ptr<access_watch>& w, monotonic_time now) {
  read_query q{pending_.unclaimed_id(), {}, now + requested_for};
  q.request.query = state::permissions_read{w->whose->access.needed};
  q.request.query.by = w->whose->by;
  // These tables include the rows that permitted it, and they do not go back.
  q.request.mode = http::consistency::stale;
  q.request.min_index = w->known_index;
  q.request.wait = requested_for;
  requested_.emplace(q.id, w);
  out_.post(std::move(q));
}

std::optional<access_watches::news> access_watches::answered(const read_result& r, monotonic_time now) {
  const auto it = requested_.find(r.id);
  if (it == requested_.end())
    return std::nullopt;
  const auto w = it->second.lock();
  requested_.erase(it);
  if (w == nullptr)
    return news{};
  due_.emplace(now + pause_, w);
  const auto* result = r.found();
  if (result == nullptr) // the query failed
    return news{};
  w->known_index = result->index.value;
  if (const auto* no = std::get_if<state::refusal>(&result->data))
    return news{w->whose, no->text, nullptr};
  const auto* response = std::get_if<state::permissions>(&result->data);
  if (response == nullptr || response->may == nullptr || response->allowed.size() != w->whose->access.needed.size() ||
      !std::all_of(response->allowed.begin(), response->allowed.end(), [](bool each) { return each; }))
    return news{w->whose, std::string(state::permission_denied), nullptr};
  return news{w->whose, std::nullopt, response->may};
}

std::vector<access_watches::news> access_watches::tick(monotonic_time now) {
  std::vector<news> refused;
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto w = due_.begin()->second.lock();
    due_.erase(due_.begin());
    if (w == nullptr)
      continue;
    if (!w->whose->access.decided_here)
      ask(w, now);
    else if (is_secret(tokens_->now().agent_master, w->whose->by->secret))
      due_.emplace(now + pause_, w);
    else
      refused.push_back({w->whose, std::string(state::acl_not_found), nullptr});
  }
  forget_what_is_over();
  return refused;
}

void access_watches::forget_what_is_over() {
  std::erase_if(requested_, [this](const auto& each) {
    if (!each.second.expired())
      return false;
    out_.post(cancel_query{each.first});
    return true;
  });
}

} // namespace belay::actors
