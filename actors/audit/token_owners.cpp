#include "actors/audit/token_owners.hpp"

#include <utility>

namespace belay::actors {

namespace {

// A token never changes its accessor, but it may go, and its description may change.
constexpr std::chrono::seconds known_for{1};
constexpr std::size_t known_max = 1000;
// The tables answer such questions as soon as they see them.
constexpr std::chrono::seconds patience{5};

token_owner owner_in(const read_result& r) {
  const auto* found = r.found();
  const auto* answer = found != nullptr ? std::get_if<state::permissions>(&found->data) : nullptr;
  if (answer == nullptr || answer->token == nullptr)
    return {};
  const auto& t = *answer->token;
  return {t.accessor, t.description, t.create_time_ns};
}

} // namespace

void token_owners::ask(const state::authority& by, monotonic_time now, told then) {
  if (const auto it = known_.find(by.secret); it != known_.end() && now - it->second.since < known_for)
    return then(it->second.owner);
  if (const auto it = asked_by_secret_.find(by.secret); it != asked_by_secret_.end()) {
    asked_.at(it->second).waiting.push_back(std::move(then));
    return;
  }
  read_query q{pending_.unclaimed_id(), {}, {}};
  q.request.mode = http::consistency::stale;
  q.request.query = state::permissions_read{};
  q.request.query.by = by;
  asked_by_secret_.emplace(by.secret, q.id);
  auto& question = asked_[q.id];
  question.secret = by.secret;
  question.since = now;
  question.waiting.push_back(std::move(then));
  out_.post(std::move(q));
}

bool token_owners::answered(const read_result& r, monotonic_time now) {
  const auto it = asked_.find(r.id);
  if (it == asked_.end())
    return false;
  auto question = std::move(it->second);
  asked_.erase(it);
  asked_by_secret_.erase(question.secret);
  const auto owner = owner_in(r);
  if (known_.size() >= known_max)
    known_.clear();
  if (!owner.accessor.empty()) // a token that is not known yet may be made any moment
    known_.insert_or_assign(std::move(question.secret), known{owner, now});
  for (auto& then : question.waiting)
    then(owner);
  return true;
}

void token_owners::tick(monotonic_time now) {
  std::erase_if(known_, [now](const auto& each) { return now - each.second.since >= known_for; });
  give_up(now - patience);
}

void token_owners::close() {
  give_up(monotonic_time::max());
}

void token_owners::give_up(monotonic_time asked_before) {
  std::vector<told> given_up;
  std::erase_if(asked_, [&](auto& each) {
    auto& question = each.second;
    if (question.since > asked_before)
      return false;
    asked_by_secret_.erase(question.secret);
    for (auto& then : question.waiting)
      given_up.push_back(std::move(then));
    return true;
  });
  for (auto& then : given_up)
    then({});
}

} // namespace belay::actors
