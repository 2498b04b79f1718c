#include "actors/tables/watch_registry.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// Queries whose deadlines are this close are answered together.
constexpr std::chrono::milliseconds watch_tick{20};
// A system timer stops while the machine is suspended, and the node's clock does not.
constexpr std::chrono::seconds longest_watch_sleep{1};

} // namespace

watch_registry::watch_registry(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors, metrics& m)
    : hosted(config, host), node_actors_(std::move(node_actors)), metrics_(m) {
  end_node_by_exceptions_of(*this, node_actors_, "watch_registry");
}

watch_registry_actor::behavior_type watch_registry::make_behavior() {
  return {
      [this](const park_query& p) { park(p); },
      [this](const unpark_query& u) { forget(u.id); },
      [this](const publish_effects& e) {
        std::vector<watch::park_id> woken;
        parked_.touched(e.changed, woken);
        INVARIANT(e.applied >= published_);
        const auto before = std::exchange(published_, e.applied);
        if (woken.empty())
          return;
        queries_touched t;
        t.quiet_up_to = MUTANT(news_taken_for_quiet) ? e.applied : before;
        t.expired = std::any_of(e.changed.begin(), e.changed.end(), [](const state::effect& each) {
          const auto* all = std::get_if<state::everything_changed>(&each);
          return all != nullptr && all->indexes_may_fall;
        });
        t.ids.reserve(woken.size());
        for (auto id : woken)
          t.ids.push_back(request_id{id});
        if (t.expired)
          for (auto id : t.ids)
            forget(id);
        send(node_actors_->fsm, std::move(t));
      },
      [this](tick_atom) {
        if (!wake_ups_.arrived(now()))
          return;
        expire();
        sleep_until_due();
      },
      [this](stop_atom) { quit(); },
  };
}

void watch_registry::park(const park_query& p) {
  parked_.park(p.id.value, p.query);
  deadline_of_[p.id] = deadlines_.emplace(p.deadline, p.id);
  INVARIANT(deadlines_.size() == deadline_of_.size());
  INVARIANT(parked_.size() == deadline_of_.size()); // else the query would wait without an end, or a change
  metrics_.parked_queries(parked_.size());
  sleep_until_due();
}

void watch_registry::sleep_until_due() {
  if (deadlines_.empty())
    return;
  const std::chrono::nanoseconds left = deadlines_.begin()->first - now();
  const auto wait = std::clamp<std::chrono::nanoseconds>(left + watch_tick, watch_tick, longest_watch_sleep);
  wake_ups_.ask(*this, *node_actors_, together(*this, wait, watch_tick), tick_atom::value);
}

void watch_registry::forget(request_id id) {
  auto it = deadline_of_.find(id);
  if (it == deadline_of_.end())
    return;
  deadlines_.erase(it->second);
  deadline_of_.erase(it);
  parked_.remove(id.value);
  INVARIANT(deadlines_.size() == deadline_of_.size());
  INVARIANT(parked_.size() == deadline_of_.size());
  metrics_.parked_queries(parked_.size());
}

void watch_registry::expire() {
  const auto now = this->now();
  queries_touched late;
  late.expired = true;
  late.quiet_up_to = published_;
  for (auto it = deadlines_.begin(); it != deadlines_.end() && it->first <= now; ++it)
    late.ids.push_back(it->second);
  for (auto id : late.ids)
    forget(id);
  INVARIANT(deadlines_.empty() || deadlines_.begin()->first > now);
  if (!late.ids.empty())
    send(node_actors_->fsm, std::move(late));
}

} // namespace belay::actors
