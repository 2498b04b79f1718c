#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

namespace {

/// Messages that no correct peer sends, mixed with some that one might.
class strange_peer {
public:
  explicit strange_peer(std::uint64_t seed) : chance_(seed) {}

  message any(const raft::core& target) {
    base_ = target.last_index().value;
    term_ = target.term().value;
    last_term_ = target.term_at(target.last_index());
    leader_ = target.soft().leader.is_zero() ? 2 : target.soft().leader.value;
    message m{
        node_id{flip() ? leader_ : chance_.below(6)}, node_id{chance_.below(20) == 0 ? 2u : 1u}, term_id{term()}, {}};
    switch (chance_.below(7)) {
    case 0:
    case 1:
      m.body = append();
      break;
    case 2:
      m.body =
          append_reply{flip(), log_index{index()}, log_index{index()}, log_index{index()}, term_id{term()}, number()};
      break;
    case 3:
      m.body = vote_request{flip(), flip(), log_index{index()}, term_id{term()}};
      break;
    case 4:
      m.body = vote_reply{flip(), flip()};
      break;
    case 5:
      m.body = chunk();
      break;
    default:
      if (flip())
        m.body = snapshot_reply{log_index{index()}, number(), flip(), flip()};
      else
        m.body = timeout_now{};
    }
    return m;
  }

  bool flip() { return chance_.below(2) == 0; }
  std::uint64_t below(std::uint64_t n) { return chance_.below(n); }

private:
  std::uint64_t near(std::uint64_t v) {
    if (chance_.below(50) == 0)
      return chance_.next();
    const auto shifted = v + chance_.below(5);
    return shifted < 2 ? 0 : shifted - 2;
  }
  std::uint64_t term() { return chance_.below(16) == 0 ? near(term_) : term_; }
  std::uint64_t index() { return near(base_); }
  std::uint64_t number() { return near(chance_.below(5)); }

  append_entries append() {
    append_entries a{log_index{index()}, term_id{term()}, log_index{index()}, number(), {}};
    if (flip()) {
      a.prev_index = log_index{base_};
      a.prev_term = last_term_;
    }
    const auto n = chance_.below(4);
    for (std::uint64_t i = 0; i < n; ++i) {
      entry e{log_index{a.prev_index.value + 1 + i}, term_id{term()}, cluster_time{2000 + chance_.below(3)},
              static_cast<entry_kind>(chance_.below(10) == 0 ? 2 + chance_.below(3) : chance_.below(2)),
              make_payload("x")};
      if (chance_.below(30) == 0)
        e.data = nullptr;
      if (chance_.below(30) == 0)
        e.index = log_index{index()};
      if (e.kind == entry_kind::configuration && flip())
        e.data = make_payload(encode(some_config()));
      a.entries.push_back(std::move(e));
    }
    return a;
  }

  configuration some_config() {
    std::vector<std::uint64_t> voters;
    for (std::uint64_t id = 1; id < 6; ++id)
      if (flip())
        voters.push_back(id);
    return make_config(voters);
  }

  snapshot_chunk chunk() {
    snapshot_chunk c{{log_index{index()}, term_id{term()}, cluster_time{3000}, some_config()},
                     chance_.below(3) == 0 ? number() : 0,
                     make_payload(std::string(chance_.below(3), 'x')),
                     flip()};
    if (chance_.below(30) == 0)
      c.bytes = nullptr;
    return c;
  }

  seeded_random chance_;
  std::uint64_t base_ = 0;
  std::uint64_t term_ = 0;
  std::uint64_t leader_ = 0;
  term_id last_term_;
};

void require(const broken_rule& broken, std::uint64_t seed, int step) {
  INFO("seed " << seed << " step " << step);
  REQUIRE(broken.value_or("") == "");
}

} // namespace

// docs/internals/pitfalls.md R16: what a peer sends is checked, never asserted.
TEST_CASE("fuzz: no message from a peer breaks a node") {
  std::size_t committed = 0;
  std::size_t installed = 0;
  std::size_t led = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    strange_peer peer(seed);
    raft::core core(node_id{1}, small_limits(), {}, seed);
    local_time now{std::chrono::seconds(1)};
    step_check steps;
    if (seed % 4 != 0)
      REQUIRE(core.bootstrap(
          make_config(seed % 4 == 1 ? std::vector<std::uint64_t>{1} : std::vector<std::uint64_t>{1, 2, 3})));
    if (seed % 8 != 5) // most peers belong to this cluster, whatever its configuration says
      core.members_received(core.self(), {node_id{2}, node_id{3}, node_id{4}, node_id{5}});
    log_index delivered;
    std::uint64_t read = 1;
    for (int step = 0; step < 1500; ++step) {
      switch (peer.below(12)) {
      case 0:
        now += small_limits().tick;
        core.tick(now);
        break;
      case 1:
        core.propose({make_payload("mine")}, cluster_time{2000});
        core.read(read++);
        break;
      case 2:
        core.transfer_leadership(node_id{peer.below(4)});
        core.peer_unreachable(node_id{peer.below(4)});
        core.broadcast_commit();
        break;
      case 3:
        core.propose_configuration(make_config({1, 2}, {3}), cluster_time{2000});
        break;
      default:
        core.step(peer.any(core), now);
      }
      require(check_node(core), seed, step);
      require(steps.observe(core), seed, step);
      if (peer.flip())
        continue;
      auto r = core.take_ready();
      for (const auto& e : r.committed) {
        REQUIRE(e.index == delivered.next());
        delivered = e.index;
      }
      committed += r.committed.size();
      led += core.is_leader() ? 1 : 0;
      for (const auto& w : r.snapshot_writes) {
        if (!w.last) {
          core.snapshot_written(w.meta.index, w.offset + w.bytes->size());
        } else if (peer.below(3) == 0) {
          core.snapshot_failed(w.meta.index);
        } else {
          REQUIRE(w.meta.index > delivered); // the state machine never goes back
          core.snapshot_installed(w.meta);
          delivered = w.meta.index;
          ++installed;
        }
      }
      for (const auto& s : r.snapshot_reads)
        core.snapshot_unavailable(s.to);
      if (r.persist && peer.flip())
        core.persisted(r.persist->token, now);
      if (peer.below(10) == 0)
        core.compact(core.meta_at(delivered), peer.below(4));
      require(check_node(core), seed, step);
    }
  }
  // The fuzzing peers got far enough to test the rules in interesting states.
  CHECK(committed > 1000);
  CHECK(installed > 50);
  CHECK(led > 1000);
}
