#include "protocol/state/claims/wait_search.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/claims/grant_rule.hpp"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

namespace belay::state {

namespace {

constexpr std::size_t holders_shown_max = 10; // limit for one wait in a listing: as many as Ahead has (rule 9)

claim_kind kind_of(const tables& t, const resource_name& of) {
  const auto resource = t.claims.resources.find(of);
  return resource ? resource->kind : claim_kind::lock;
}

/// Calls `f(session)` for each holder that blocks the waiter, while it returns true.
template <class F>
void for_each_holder(const tables& t, const claim_record& waiter, F&& f) {
  if (waiter.of.space == claim_space::keys) {
    const auto entry = t.kv.find(waiter.of.name);
    if (entry && !entry->session.empty())
      f(std::string(entry->session));
    return;
  }
  const auto* line = t.claims.claims.line(waiter.of);
  const auto kind = kind_of(t, waiter.of);
  if (kind == claim_kind::rw && waiter.mode == claim_mode::shared && line->held.exclusive == 0)
    return; // a million readers do not block another one
  for (const auto& [fence, holder] : line->holders)
    if (conflicts(kind, waiter.mode, holder->mode) && !f(holder->session))
      return;
}

/// Breadth-first search: the first cycle is a shortest one.
class searcher {
public:
  searcher(const tables& t, const cycle_search& wanted) : t_(t), wanted_(wanted) {}

  wait_cycle run() {
    t_.claims.claims.for_each_of_session(wanted_.session, [&](const claim_ptr& claim) {
      if (!may_examine())
        return false;
      if (claim->state == claim_state::waiting) {
        own_waits_.push_back(claim);
        auto& first = stands_at_.try_emplace(claim->of, position_of(*claim)).first->second;
        first = std::min(first, position_of(*claim));
      }
      return true;
    });
    visit(node{std::string(wanted_.session), !wanted_.refusers_only || wanted_.starts_refusing}, {}, nullptr);
    for (; !queue_.empty() && found_.edges.empty() && !found_.cut; queue_.pop_front())
      expand(*queue_.front());
    if (found_.cut)
      PROBE("claims: the search for a deadlock was cut");
    return std::move(found_);
  }

private:
  struct node {
    std::string session;
    bool refuses; ///< a claim on the path has deadlock=refuse
    auto operator<=>(const node&) const = default;
  };
  struct arrival {
    wait_edge by;
    const node* from; ///< null: the start
  };

  void expand(const node& at) {
    if (at.session == wanted_.session) {
      for (const auto& claim : own_waits_)
        if (claim->key != wanted_.granted && !done())
          expand(at, *claim);
      return;
    }
    t_.claims.claims.for_each_of_session(at.session, [&](const claim_ptr& claim) {
      if (!may_examine())
        return false;
      if (claim->state == claim_state::waiting && claim->key != wanted_.granted)
        expand(at, *claim);
      return !done();
    });
  }

  void expand(const node& at, const claim_record& waiter) {
    const bool refuses = at.refuses || waiter.refuse_deadlock;
    step_to_holders(at, waiter, refuses);
    const auto own = position_of(waiter);
    if (const auto start = stands_at_.find(waiter.of); start != stands_at_.end() && start->second < own)
      step(at, waiter, std::string(wanted_.session), false, refuses);
    // What is ahead of a waiter examined earlier was found then, and is skipped.
    // Exception: both waits are of one session; that matters only for the first.
    const auto* line = t_.claims.claims.line(waiter.of);
    auto& seen = seen_up_to_[{waiter.of, refuses}];
    auto other = seen ? line->queue.lower_bound(*seen) : line->queue.begin();
    for (; other != line->queue.end() && other->first < own && !done() && may_examine(); ++other)
      step(at, waiter, other->second->session, false, refuses);
    if (!seen || *seen < own)
      seen = own;
  }

  /// An earlier waiter here, of the same mode and flag, found all holders except its own session,
  /// which does not block itself. So n waiters and n holders take 2n steps, not n * n, with the
  /// same result.
  void step_to_holders(const node& at, const claim_record& waiter, bool refuses) {
    const auto [found, first] = holders_found_.try_emplace({waiter.of, refuses, waiter.mode});
    auto& left = found->second;
    if (!first) {
      if (!left.empty() && left != at.session)
        step(at, waiter, std::exchange(left, {}), true, refuses);
      return;
    }
    for_each_holder(t_, waiter, [&](const std::string& session) {
      if (!may_examine())
        return false;
      if (session == at.session)
        left = session;
      step(at, waiter, session, true, refuses);
      return !done();
    });
  }

  /// Counts a claim or session. @returns false: the limit is reached
  bool may_examine() {
    if (wanted_.claims_max && examined_++ >= *wanted_.claims_max && !MUTANT(deadlock_search_without_bound))
      found_.cut = true;
    return !found_.cut;
  }

  bool done() const { return !found_.edges.empty() || found_.cut; }

  void step(const node& at, const claim_record& waiter, const std::string& to, bool holds, bool refuses) {
    if (done() || to == at.session)
      return;
    wait_edge edge{at.session, waiter.id, waiter.of, false, to, holds};
    if (to == wanted_.session) {
      if (refuses)
        report(at, std::move(edge));
      return;
    }
    visit({to, refuses}, std::move(edge), &at);
  }

  void visit(node to, wait_edge by, const node* from) {
    const auto [at, fresh] = visited_.try_emplace(std::move(to), arrival{std::move(by), from});
    if (!fresh || !may_examine())
      return;
    if (visited_.size() > graph_nodes_max) {
      found_.cut = true;
      return;
    }
    queue_.push_back(&at->first);
  }

  void report(const node& last, wait_edge closing) {
    found_.edges.push_back(std::move(closing));
    for (const node* at = &last;;) {
      const auto& arrival = visited_.at(*at);
      if (arrival.from == nullptr)
        break;
      found_.edges.push_back(arrival.by);
      at = arrival.from;
    }
    std::reverse(found_.edges.begin(), found_.edges.end());
    INVARIANT(found_.edges.front().session == wanted_.session);
    INVARIANT(found_.edges.back().blocker == wanted_.session); // a cycle
  }

  const tables& t_;
  const cycle_search& wanted_;
  std::map<node, arrival> visited_; ///< its nodes do not move
  std::deque<const node*> queue_;
  std::map<std::pair<resource_name, bool>, std::optional<queue_position>> seen_up_to_;
  /// All except this session; empty: all.
  std::map<std::tuple<resource_name, bool, claim_mode>, std::string> holders_found_;
  std::vector<claim_ptr> own_waits_; ///< waits of the session that the search began with
  std::size_t examined_ = 0;
  /// Position of the first claim of the session that the search began with, in each queue.
  std::map<resource_name, queue_position> stands_at_;
  wait_cycle found_;
};

} // namespace

std::optional<std::size_t> bound_of_search(const applying& a) {
  return a.scope ? std::optional(search_claims_max) : std::nullopt;
}

wait_cycle find_cycle(const tables& t, const cycle_search& wanted) {
  return searcher(t, wanted).run();
}

wait_graph waits_of(const tables& t) {
  wait_graph graph;
  const auto add = [&](const claim_record& waiter, const std::string& blocker, bool holds) {
    if (graph.edges.size() == graph_nodes_max)
      graph.cut = true;
    else
      graph.edges.push_back({waiter.session, waiter.id, waiter.of, false, blocker, holds});
    return !graph.cut;
  };
  t.claims.claims.for_each_awaited([&](const claim_line& line) {
    const claim_record* before = nullptr;
    for (const auto& [number, waiter] : line.queue) {
      if (graph.cut)
        return false;
      std::size_t shown = 0;
      for_each_holder(t, *waiter, [&, &waiter = waiter](const std::string& session) {
        return add(*waiter, session, true) && ++shown < holders_shown_max;
      });
      if (before != nullptr)
        add(*waiter, before->session, false);
      before = waiter.get();
    }
    return true;
  });
  return graph;
}

} // namespace belay::state
