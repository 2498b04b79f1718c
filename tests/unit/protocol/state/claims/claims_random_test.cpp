// Random requests: checks the promises of docs/reference/claims.md after every entry, from outside.

#include "protocol/base/random.hpp"
#include "protocol/state/claims/grant_rule.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace belay;
using namespace belay::state;

namespace {

/// Rows of one machine, as in a checkpoint.
struct picture {
  std::map<resource_name, claim_resource_ptr> resources;
  std::map<resource_name, std::vector<claim_ptr>> holders, queues;
  std::map<resource_name, std::vector<claim_ghost>> ghosts;
  std::map<std::string, kv_entry_ptr> keys;
  std::map<std::string, cluster_time> delays;
  std::set<std::string> sessions;

  explicit picture(const machine& m) {
    for (const auto& row : m.all_rows()) {
      if (const auto* r = std::get_if<claim_resource_ptr>(&row.row))
        resources[(*r)->of] = *r;
      else if (const auto* c = std::get_if<claim_ptr>(&row.row))
        ((*c)->state == claim_state::held ? holders : queues)[(*c)->of].push_back(*c);
      else if (const auto* g = std::get_if<claim_ghost_ptr>(&row.row))
        ghosts[(*g)->of].push_back(**g);
      else if (const auto* k = std::get_if<kv_entry_ptr>(&row.row))
        keys[std::string((*k)->key)] = *k;
      else if (const auto* l = std::get_if<lock_delay_record>(&row.row))
        delays[l->key] = l->until;
      else if (const auto* s = std::get_if<session_ptr>(&row.row))
        sessions.insert((*s)->id);
    }
    for (auto& [of, queue] : queues)
      std::sort(queue.begin(), queue.end(), [](const auto& x, const auto& y) {
        return std::pair(255 - x->priority, x->ticket) < std::pair(255 - y->priority, y->ticket);
      });
  }
};

struct looker {
  std::uint64_t newest_fence = 0;
  std::map<std::string, std::string> granted; ///< every fencing token that was returned, by `name/id`

  void look(const claims_driver& d) {
    const picture p(d.m);
    // Invariant 1: "the head does not fit, or there is none; no live waiter past its deadline".
    for (const auto& [of, queue] : p.queues) {
      INFO(of.name);
      for (const auto& c : queue)
        CHECK((c->deadline.is_zero() || c->deadline > d.now));
      if (of.space == claim_space::keys) {
        const auto entry = p.keys.find(of.name);
        const bool held = entry != p.keys.end() && !entry->second->session.empty();
        CHECK((held || p.delays.contains(of.name)));
        continue;
      }
      const auto& r = p.resources.at(of);
      occupancy taken;
      if (p.holders.contains(of))
        for (const auto& c : p.holders.at(of))
          taken.add(c->mode, c->permits);
      if (p.ghosts.contains(of))
        for (const auto& g : p.ghosts.at(of))
          taken.add(g.mode, g.permits);
      CHECK_FALSE(fits({r->kind, r->limit}, taken, queue.front()->mode, queue.front()->permits));
    }
    // Invariant 10 and mutual exclusion.
    for (const auto& [of, list] : p.holders) {
      const auto& r = p.resources.at(of);
      std::uint64_t exclusive = 0;
      for (const auto& c : list) {
        CHECK(p.sessions.contains(c->session));
        exclusive += c->mode == claim_mode::exclusive;
      }
      if (r->kind != claim_kind::semaphore)
        CHECK((exclusive == 0 || list.size() == 1));
    }
    for (const auto& [of, list] : p.ghosts)
      for (const auto& g : list)
        CHECK(g.until > d.now);
    // Invariant 8: "no row without a reason to exist".
    for (const auto& [of, r] : p.resources)
      CHECK((r->pinned || p.holders.contains(of) || p.queues.contains(of) || p.ghosts.contains(of)));
    for (const auto& [of, queue] : p.queues)
      for (const auto& c : queue)
        CHECK(p.sessions.contains(c->session));
    // Invariant 2: "Fences rise in grant order over the whole history". Invariant 3 for keys.
    for (const auto& e : d.changed)
      if (const auto* g = std::get_if<claim_granted>(&e)) {
        CHECK(g->fence > newest_fence);
        newest_fence = g->fence;
      }
    for (const auto& [key, entry] : p.keys) {
      CHECK(entry->session.empty() == (entry->fence == 0));
      CHECK((entry->session.empty() || p.sessions.contains(std::string(entry->session))));
      newest_fence = std::max(newest_fence, entry->fence);
    }
    acyclic(p);
    CHECK(d.sound());
  }

  /// Invariant 9: "The wait-for graph is acyclic while all requests said `refuse`", as here.
  void acyclic(const picture& p) {
    std::map<std::string, std::set<std::string>> edges;
    for (const auto& [of, queue] : p.queues)
      for (std::size_t i = 0; i < queue.size(); ++i) {
        auto& out = edges[queue[i]->session];
        for (std::size_t j = 0; j < i; ++j)
          out.insert(queue[j]->session);
        if (of.space == claim_space::keys) {
          if (const auto entry = p.keys.find(of.name); entry != p.keys.end() && !entry->second->session.empty())
            out.emplace(entry->second->session);
        } else if (p.holders.contains(of))
          for (const auto& h : p.holders.at(of))
            if (conflicts(p.resources.at(of)->kind, queue[i]->mode, h->mode))
              out.insert(h->session);
        out.erase(queue[i]->session);
      }
    // Removes those that wait for no other, again and again: what is left is a cycle.
    for (bool moved = true; moved;) {
      moved = false;
      for (auto at = edges.begin(); at != edges.end();) {
        std::erase_if(at->second, [&](const std::string& to) { return !edges.contains(to); });
        moved = moved || at->second.empty();
        at = at->second.empty() ? edges.erase(at) : std::next(at);
      }
    }
    std::string cycle;
    for (const auto& [from, to] : edges)
      for (const auto& each : to)
        cycle += "\n" + from + " waits for " + each;
    CHECK(cycle == "");
  }
};

std::string name(seeded_random& r) {
  return std::string(1, static_cast<char>('a' + r.below(4)));
}

void step(claims_driver& d, seeded_random& r, int& sessions, std::map<std::string, std::string>& over) {
  const auto session = [&] { return uuid(1 + static_cast<int>(r.below(static_cast<std::uint64_t>(sessions)))); };
  const auto of = name(r);
  switch (r.below(16)) {
  case 0:
    if (sessions < 40)
      d.open(++sessions, r.below(2) == 0 ? 0 : 300);
    return;
  case 1:
    d.close(session());
    return;
  case 2:
    d.pass(r.below(200));
    d.alarm();
    return;
  case 3:
  case 4:
  case 5:
  case 6: {
    const auto id = "i" + std::to_string(r.below(300));
    const auto reply = d.ask(of, session(), id, [&](claim_ask& c) {
      c.refuse_deadlock = true;
      c.priority = r.below(3);
      c.deadline_ms = r.below(2) == 0 ? 0 : 1 + r.below(400);
      c.kind = of == "a"   ? claim_kind::lock
               : of == "b" ? claim_kind::rw
               : of == "c" ? claim_kind::semaphore
                           : claim_kind::election;
      if (of == "b" && r.below(2) == 0)
        c.mode = claim_mode::shared;
      if (of == "c") {
        c.permits = 1 + r.below(3);
        c.limit = 4;
      }
    });
    // Invariant 4: after `ended`, or DELETE `true`, a request "never holds later".
    if (const auto* a = std::get_if<claim_answer>(&reply))
      CHECK_FALSE(over.contains(a->of.name + "/" + a->id));
    return;
  }
  case 7: {
    const auto id = "i" + std::to_string(r.below(300));
    d.drops(of, id);
    over[of + "/" + id] = "released";
    return;
  }
  case 8: {
    const auto holders = d.holders(of), waiters = d.waiters(of);
    if (!holders.empty())
      d.apply(claim_transfer{of, holders.front(),
                             waiters.empty() || r.below(2) == 0 ? "" : waiters[r.below(waiters.size())]});
    return;
  }
  case 9:
    if (const auto holders = d.holders("b"); !holders.empty())
      d.apply(claim_mode_set{"b", holders.front(), claim_mode::shared});
    return;
  case 10:
    r.below(2) == 0 ? (void)d.apply(claim_limit_set{"c", 1 + r.below(6)}) : (void)d.apply(claim_limit_unset{"c"});
    return;
  case 11:
  case 12:
    d.queue("k" + of, session(), 1 + r.below(500), "v", true);
    return;
  case 13:
    d.release("k" + of, session());
    return;
  case 14:
    r.below(2) == 0 ? d.remove("k" + of) : d.remove_tree("k");
    return;
  default:
    r.below(2) == 0 ? (void)d.set("k" + of) : (void)d.write(kv_verb::lock, "k" + of, "v", 0, 0, session());
  }
}

} // namespace

TEST_CASE("random claims keep the invariants after every entry") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    seeded_random r(seed);
    claims_driver d;
    int sessions = 0;
    std::map<std::string, std::string> over;
    looker l;
    d.open(++sessions);
    for (int i = 0; i < 250; ++i) {
      INFO("step " << i);
      d.changed.clear(); // some steps find nothing to do
      step(d, r, sessions, over);
      l.look(d);
    }
    CHECK(d.m.claims_counted().queued_bytes <= queued_bytes_max);
  }
}
