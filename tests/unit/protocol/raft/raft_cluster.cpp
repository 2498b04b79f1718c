#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <algorithm>

namespace belay::raft::testing {

configuration make_config(const std::vector<std::uint64_t>& voters, const std::vector<std::uint64_t>& learners) {
  configuration c;
  std::set<std::uint64_t> all(voters.begin(), voters.end());
  all.insert(learners.begin(), learners.end());
  for (auto id : all)
    c.members.push_back(make_member(id));
  for (auto id : voters)
    c.voters.push_back(node_id{id});
  for (auto id : learners)
    c.learners.push_back(node_id{id});
  return c;
}

limits small_limits() {
  limits l;
  l.election_ticks = 10;
  l.heartbeat_ticks = 2;
  l.append_entries_max = 8;
  l.catch_up_append_bytes_max = l.catch_up_append_entries_max = 0;
  l.inflight_appends_max = 4;
  l.append_gap = {};
  l.snapshot_chunk_bytes = l.snapshot_chunk_bytes_max = 16;
  l.snapshot_chunks_inflight = 3;
  return l;
}

namespace {

struct message_text {
  std::string operator()(const append_entries& a) const {
    std::string s = a.entries.empty() ? "heartbeat" : "append";
    s += " prev=" + to_string(a.prev_index) + "@" + to_string(a.prev_term);
    if (!a.entries.empty())
      s += " entries=" + to_string(a.entries.front().index) + ".." + to_string(a.entries.back().index);
    return s + " commit=" + to_string(a.commit) + " round=" + std::to_string(a.round);
  }
  std::string operator()(const append_reply& r) const {
    if (r.success)
      return "append_ok match=" + to_string(r.match) + " round=" + std::to_string(r.round);
    return "append_no rejected=" + to_string(r.rejected) + " try=" + to_string(r.conflict_index) + "@" +
           to_string(r.conflict_term);
  }
  std::string operator()(const vote_request& r) const {
    return std::string(r.pre_vote ? "pre_vote?" : "vote?") + " last=" + to_string(r.last_index) + "@" +
           to_string(r.last_term) + (r.transfer ? " transfer" : "");
  }
  std::string operator()(const vote_reply& r) const {
    return std::string(r.pre_vote ? "pre_vote" : "vote") + (r.granted ? " granted" : " refused");
  }
  std::string operator()(const snapshot_chunk& c) const {
    return "snapshot index=" + to_string(c.meta.index) + " offset=" + std::to_string(c.offset) +
           " bytes=" + std::to_string(c.bytes->size()) + (c.last ? " last" : "");
  }
  std::string operator()(const snapshot_reply& r) const {
    return "snapshot_reply index=" + to_string(r.index) + " next=" + std::to_string(r.next_offset) +
           (r.installed ? " installed" : "") + (r.rejected ? " rejected" : "");
  }
  std::string operator()(const timeout_now&) const { return "timeout_now"; }
};

/// Index, digest, and padding, so that it takes several chunks.
std::string checkpoint_of(log_index index, std::uint32_t digest) {
  std::string bytes;
  byte_writer w(bytes);
  w.u64(index.value);
  w.u32(digest);
  for (int i = 0; i < 60; ++i)
    w.u8(static_cast<std::uint8_t>(index.value + static_cast<std::uint64_t>(i)));
  w.u32(crc32c(bytes));
  return bytes;
}

} // namespace

std::string to_text(const message& m) {
  return to_string(m.from) + "->" + to_string(m.to) + " t" + to_string(m.term) + " " +
         std::visit(message_text{}, m.body);
}

// ---- nodes

test_node& raft_cluster::add_node(std::uint64_t id, const limits& lim) {
  auto& n = nodes_[id];
  n.id = node_id{id};
  n.lim = lim;
  restart(id);
  return n;
}

void raft_cluster::start(std::uint64_t n, const limits& lim) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t id = 1; id <= n; ++id)
    all.push_back(id);
  for (auto id : all) {
    add_node(id, lim);
    if (!core(id).bootstrap(make_config(all)))
      throw broken_invariant("bootstrap refused");
    settle(id);
  }
}

test_node& raft_cluster::node(std::uint64_t id) {
  auto it = nodes_.find(id);
  if (it == nodes_.end())
    throw broken_invariant("no node " + std::to_string(id));
  return it->second;
}

std::vector<std::uint64_t> raft_cluster::ids() const {
  std::vector<std::uint64_t> all;
  for (const auto& [id, n] : nodes_)
    all.push_back(id);
  return all;
}

void raft_cluster::crash(std::uint64_t id, std::size_t survives) {
  auto& n = node(id);
  for (; survives > 0 && !n.writing.empty(); --survives) {
    write(n, std::move(n.writing.front()));
    n.writing.pop_front();
  }
  n.core.reset();
  n.writing.clear();
  n.disk_stalled = n.install_stalled = false;
  n.waiting_install.reset();
  n.incoming_bytes.clear();
  n.reads_confirmed.clear();
  n.reads_failed.clear();
}

void raft_cluster::restart(std::uint64_t id) {
  auto& n = node(id);
  n.steps.forget();
  n.applied = n.checkpoint.index;
  n.digest = 0;
  if (!n.checkpoint_bytes.empty()) {
    byte_reader r(n.checkpoint_bytes);
    r.u64();
    n.digest = r.u32();
  }
  n.core = std::make_unique<raft::core>(n.id, n.lim, restored_state{n.hard, n.checkpoint, n.log}, random_.next());
  settle(id);
}

// ---- events

void raft_cluster::tick(std::uint64_t id) {
  auto& n = node(id);
  if (!n.core)
    return;
  n.core->tick(now_);
  settle(id);
}

void raft_cluster::tick_all() {
  now_ += small_limits().tick;
  for (auto id : ids())
    tick(id);
}

void raft_cluster::settle(std::uint64_t id) {
  auto& n = node(id);
  for (int round = 0; n.core; ++round) {
    if (round > 1000)
      throw broken_invariant("a node never comes to rest: " + n.core->describe());
    check(n);
    auto r = n.core->take_ready();
    if (r.empty())
      break;
    carry_out(n, std::move(r));
  }
}

void raft_cluster::carry_out(test_node& n, ready r) {
  for (auto& m : r.send_now) {
    if (auto broken = facts_.sent(*n.core, m))
      throw broken_invariant(*broken);
    ++sent_;
    net_.push_back(std::move(m));
  }
  for (auto& w : r.snapshot_writes) {
    if (n.hard.term.is_zero())
      throw broken_invariant("a snapshot is stored before a term");
    if (w.offset == 0)
      n.incoming_bytes.clear();
    if (w.offset != n.incoming_bytes.size())
      throw broken_invariant("snapshot chunk out of order");
    n.incoming_bytes += *w.bytes;
    if (!w.last)
      n.core->snapshot_written(w.meta.index, n.incoming_bytes.size());
    else if (n.install_stalled)
      n.waiting_install = w;
    else
      install(n, w);
  }
  for (const auto& s : r.snapshot_reads) {
    if (n.checkpoint_bytes.empty() || (!s.index.is_zero() && s.index != n.checkpoint.index)) {
      n.core->snapshot_unavailable(s.to);
      continue;
    }
    const auto bytes = n.checkpoint_bytes.substr(s.offset, s.bytes_max);
    n.core->snapshot_loaded(s.to, n.checkpoint, s.offset, make_payload(bytes),
                            s.offset + bytes.size() == n.checkpoint_bytes.size());
  }
  for (const auto& e : r.committed)
    apply(n, e);
  for (const auto& c : r.reads_confirmed)
    n.reads_confirmed.push_back(c);
  for (auto id : r.reads_failed)
    n.reads_failed.push_back(id);
  if (r.proposals_unknown_from)
    n.unknown_from = r.proposals_unknown_from;
  if (r.lease_withdrawn && !n.readers_slow)
    n.core->lease_given_up();
  if (r.persist) {
    ++n.persists;
    n.writing.push_back(std::move(*r.persist));
    if (!n.disk_stalled)
      sync(n.id.value);
  }
}

void raft_cluster::write(test_node& n, persist_batch b) {
  if (b.hard)
    n.hard = *b.hard;
  if (b.restart_after)
    n.log.clear();
  if (b.truncate_from)
    std::erase_if(n.log, [&](const entry& e) { return e.index >= *b.truncate_from; });
  for (auto& e : b.entries) {
    if (!n.log.empty() && e.index != n.log.back().index.next())
      throw broken_invariant("gap in the log on disk before " + to_string(e.index));
    n.log.push_back(std::move(e));
  }
}

void raft_cluster::sync(std::uint64_t id, std::size_t count) {
  auto& n = node(id);
  std::uint64_t token = 0;
  for (; count > 0 && !n.writing.empty(); --count) {
    if (token != 0 && n.writing.front().token != token + 1)
      throw broken_invariant("tokens do not rise by one");
    token = n.writing.front().token;
    write(n, std::move(n.writing.front()));
    n.writing.pop_front();
  }
  if (token != 0 && n.core)
    n.core->persisted(token, now_);
}

void raft_cluster::stall_disk(std::uint64_t id, bool stalled) {
  node(id).disk_stalled = stalled;
  if (!stalled) {
    sync(id);
    settle(id);
  }
}

void raft_cluster::stall_install(std::uint64_t id, bool stalled) {
  auto& n = node(id);
  n.install_stalled = stalled;
  if (!stalled && n.waiting_install) {
    install(n, *std::exchange(n.waiting_install, std::nullopt));
    settle(id);
  }
}

void raft_cluster::install(test_node& n, const snapshot_write& w) {
  byte_reader r(n.incoming_bytes);
  const auto index = log_index{r.u64()};
  const auto digest = r.u32();
  r.raw(60);
  const auto sum = r.u32();
  if (!r.complete() || sum != crc32c(std::string_view(n.incoming_bytes).substr(0, n.incoming_bytes.size() - 4)) ||
      index != w.meta.index)
    throw broken_invariant("a checkpoint arrived damaged");
  if (index <= n.applied)
    throw broken_invariant("a checkpoint would take the state machine back");
  n.checkpoint = w.meta;
  n.checkpoint_bytes = n.incoming_bytes;
  n.applied = index;
  n.digest = digest;
  const auto [it, fresh] = digests_.try_emplace(index, digest);
  if (it->second != digest)
    throw broken_invariant("state machines differ at " + to_string(index));
  n.core->snapshot_installed(w.meta);
}

void raft_cluster::apply(test_node& n, const entry& e) {
  if (n.hard.term.is_zero())
    throw broken_invariant("an entry is applied before a term is on the disk");
  if (e.index != n.applied.next())
    throw broken_invariant("committed entries are not contiguous at " + to_string(e.index) + " | " +
                           n.core->describe());
  n.applied = e.index;
  n.digest = crc32c(*e.data, n.digest);
  const auto [it, fresh] = digests_.try_emplace(e.index, n.digest);
  if (it->second != n.digest)
    throw broken_invariant("state machines differ at " + to_string(e.index));
}

std::optional<log_index> raft_cluster::propose(std::uint64_t id, const std::string& text) {
  auto& n = node(id);
  if (!n.core)
    return std::nullopt;
  auto r = n.core->propose({make_payload(text)}, wall());
  settle(id);
  if (const auto* index = std::get_if<log_index>(&r))
    return *index;
  return std::nullopt;
}

void raft_cluster::checkpoint(std::uint64_t id, std::uint64_t keep) {
  auto& n = node(id);
  const auto meta = n.core->meta_at(n.applied);
  if (meta.index.is_zero() || meta.index <= n.checkpoint.index)
    return;
  n.checkpoint = meta;
  n.checkpoint_bytes = checkpoint_of(n.applied, n.digest);
  const auto first = n.core->compact(meta, keep);
  std::erase_if(n.log, [&](const entry& e) { return e.index < first; });
  settle(id);
}

// ---- network

void raft_cluster::deliver(std::size_t i, bool keep_a_copy) {
  const auto m = net_.at(i);
  if (!keep_a_copy)
    drop(i);
  if (is_cut(m.from.value, m.to.value) || !nodes_.contains(m.to.value) || !up(m.to.value))
    return;
  identify(node(m.to.value));
  core(m.to.value).step(m, now_);
  settle(m.to.value);
}

void raft_cluster::identify(test_node& to) {
  if (!handshakes)
    return;
  to.joined = to.joined || to.core->config().contains(to.id);
  for (const auto& [id, n] : nodes_) {
    if (n.id == to.id || !n.core || is_cut(id, to.id.value))
      continue;
    std::vector<node_id> named;
    for (const auto& m : n.core->config().members)
      named.push_back(m.id);
    to.core->members_received(n.id, named);
    if (!to.joined)
      to.core->members_received(to.id, {n.id});
  }
}

void raft_cluster::deliver_all(std::size_t max) {
  for (; max > 0 && !net_.empty(); --max)
    deliver(0);
  if (!net_.empty())
    throw broken_invariant("messages without end: " + to_text(net_.front()));
}

void raft_cluster::partition(const std::vector<std::vector<std::uint64_t>>& groups) {
  heal();
  std::map<std::uint64_t, std::size_t> group_of;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (auto id : groups[g])
      group_of[id] = g + 1;
  const auto all = ids();
  for (auto a : all)
    for (auto b : all)
      if (a < b && (group_of[a] == 0 || group_of[a] != group_of[b]))
        cut(a, b);
}

// ---- running

void raft_cluster::run(int n) {
  for (int i = 0; i < n; ++i) {
    tick_all();
    deliver_all();
  }
}

std::uint64_t raft_cluster::leader() const {
  std::uint64_t best = 0;
  term_id newest;
  for (const auto& [id, n] : nodes_)
    if (n.core && n.core->is_leader() && n.core->term() > newest) {
      best = id;
      newest = n.core->term();
    }
  return best;
}

std::uint64_t raft_cluster::elect(int ticks) {
  for (int i = 0; i < ticks; ++i) {
    if (const auto l = leader(); l != 0 && core(l).may_serve_reads())
      return l;
    run(1);
  }
  return 0;
}

std::string raft_cluster::converge(int ticks) {
  heal();
  for (auto id : ids()) {
    if (!up(id))
      restart(id);
    stall_disk(id, false);
    stall_install(id, false);
  }
  std::string wrong;
  for (int i = 0; i < ticks; ++i) {
    run(1);
    wrong.clear();
    const auto l = leader();
    if (l == 0 || !core(l).may_serve_reads()) {
      wrong = "no leader";
      continue;
    }
    const auto& lead = node(l);
    if (lead.core->config().joint())
      wrong = "still joint";
    for (const auto& m : lead.core->config().members) {
      const auto& n = node(m.id.value);
      if (n.core->last_index() != lead.core->last_index() || n.applied != lead.core->last_index() ||
          n.digest != lead.digest)
        wrong = "behind: " + n.core->describe();
    }
    if (wrong.empty()) {
      check_logs();
      return {};
    }
  }
  for (auto id : ids())
    wrong += "\n  " + core(id).describe();
  return wrong;
}

void raft_cluster::check(test_node& n) {
  auto fail = [&](const broken_rule& b) {
    if (b)
      throw broken_invariant(*b);
  };
  fail(check_node(*n.core));
  fail(n.steps.observe(*n.core));
  fail(facts_.observe(*n.core));
}

void raft_cluster::check_logs() {
  for (auto a = nodes_.begin(); a != nodes_.end(); ++a)
    for (auto b = std::next(a); b != nodes_.end(); ++b)
      if (a->second.core && b->second.core)
        if (auto broken = cluster_check::compare(*a->second.core, *b->second.core))
          throw broken_invariant(*broken);
}

} // namespace belay::raft::testing
