// The example of docs/internals/driving-raft.md, compiled and run. The page shows a part of this file; the
// last test compares the two.

#include "protocol/raft/core.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <sstream>

using namespace belay;
using namespace belay::raft;

namespace {

/// A slow disk: what is written is durable only after sync().
struct example_disk {
  std::deque<persist_batch> unwritten;
  hard_state hard;
  std::vector<entry> entries;

  void write(persist_batch b) { unwritten.push_back(std::move(b)); }

  /// @returns the token of the last durable batch; zero: there was nothing to write
  std::uint64_t sync() {
    std::uint64_t token = 0;
    for (; !unwritten.empty(); unwritten.pop_front()) {
      auto& b = unwritten.front();
      token = b.token;
      hard = b.hard.value_or(hard);
      while (b.truncate_from && !entries.empty() && entries.back().index >= *b.truncate_from)
        entries.pop_back();
      std::move(b.entries.begin(), b.entries.end(), std::back_inserter(entries));
    }
    return token;
  }
};

std::deque<message> network;
local_time now{std::chrono::seconds(1)};

void send(message m) {
  network.push_back(std::move(m));
}

struct server {
  raft::core core;
  example_disk disk;
  std::vector<std::string> machine;         ///< the state machine: commands it has applied
  log_index applied;                        ///< the last index applied
  std::map<log_index, std::string> waiting; ///< clients' proposals that are not answered yet
  /// Confirmed reads, and the index that the machine must have applied for each.
  std::map<std::uint64_t, log_index> reads;
  std::vector<std::string> answers; ///< what clients received

  explicit server(node_id id, restored_state from_disk = {}) : core(id, limits{}, std::move(from_disk), id.value) {}

  void answer_reads() {
    std::erase_if(reads, [this](const auto& read) {
      if (applied < read.second)
        return false;
      answers.push_back("read of " + std::to_string(machine.size()));
      return true;
    });
  }

  void carry_out();
  void tick();
  void receive(const message& m);
  void propose(const std::string& command);
  void disk_synced(std::uint64_t token);
};

// [example
void server::carry_out() {
  for (auto r = core.take_ready(); !r.empty(); r = core.take_ready()) {
    if (r.persist) // 1. handed to the disk, not waited for
      disk.write(std::move(*r.persist));
    for (auto& m : r.send_now) // 2. may go at once, even if the disk is slow
      send(std::move(m));
    if (r.proposals_unknown_from) // before `committed`: another leader's entries may come at these indexes
      for (auto it = waiting.lower_bound(*r.proposals_unknown_from); it != waiting.end(); it = waiting.erase(it))
        answers.push_back("unknown");
    for (const auto& e : r.committed) { // 3. on the disks of a majority: apply, then answer who waits
      if (e.kind == entry_kind::command)
        machine.emplace_back(*e.data);
      applied = e.index;
      if (waiting.erase(e.index) != 0)
        answers.push_back("done");
    }
    for (const auto& read : r.reads_confirmed)
      reads[read.id] = read.index;
    for (std::size_t i = 0; i < r.reads_failed.size(); ++i)
      answers.push_back("ask again");
    for (const auto& s : r.snapshot_reads)
      core.snapshot_unavailable(s.to); // this example makes no checkpoints
    answer_reads();
  }
}

void server::tick() { // every limits::tick
  core.tick(now);
  carry_out();
}

void server::receive(const message& m) {
  core.step(m, now);
  carry_out();
}

void server::propose(const std::string& command) {
  const auto result = core.propose({make_payload(command)}, cluster_time{static_cast<std::uint64_t>(now.count())});
  if (const auto* index = std::get_if<log_index>(&result))
    waiting[*index] = command;
  else
    answers.push_back("refused: " + std::string(name_of(std::get<propose_error>(result))));
  carry_out();
}

void server::disk_synced(std::uint64_t token) { // 4. only now acknowledgements and votes go out
  core.persisted(token, now);
  carry_out();
}
// example]

/// Time passes, messages arrive, disks sync.
void run(std::map<node_id, server*> servers, int ticks) {
  for (; ticks > 0; --ticks) {
    now += limits{}.tick;
    for (auto& [id, s] : servers)
      s->tick();
    for (bool busy = true; busy;) {
      busy = !network.empty();
      for (auto& m : std::exchange(network, {}))
        servers.at(m.to)->receive(m);
      for (auto& [id, s] : servers)
        if (const auto token = s->disk.sync(); token != 0) {
          s->disk_synced(token);
          busy = true;
        }
    }
  }
}

configuration three_servers() {
  configuration c;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    c.members.push_back({node_id{id}, "uuid", "server " + std::to_string(id), "host:8300"});
    c.voters.push_back(node_id{id});
  }
  return c;
}

} // namespace

TEST_CASE("docs/internals/driving-raft.md: three servers elect, commit, read, and go on after a restart") {
  network.clear();
  std::optional<server> a(node_id{1}), b(node_id{2}), c(node_id{3});
  for (auto* s : {&*a, &*b, &*c})
    REQUIRE(s->core.bootstrap(three_servers()));
  std::map<node_id, server*> all{{node_id{1}, &*a}, {node_id{2}, &*b}, {node_id{3}, &*c}};
  run(all, 100);
  server* leader = nullptr;
  for (auto& [id, s] : all)
    leader = s->core.is_leader() ? s : leader;
  REQUIRE(leader != nullptr);

  leader->propose("x");
  CHECK(leader->answers.empty()); // not on a single disk yet
  for (auto& [id, s] : all)
    if (s != leader)
      s->propose("y");
  run(all, 5);
  CHECK(leader->answers == std::vector<std::string>{"done"});
  REQUIRE(leader->core.read(1));
  leader->carry_out();
  run(all, 5);
  CHECK(leader->answers == std::vector<std::string>{"done", "read of 1"});
  for (auto& [id, s] : all) {
    CHECK(s->machine == std::vector<std::string>{"x"});
    if (s != leader)
      CHECK(s->answers == std::vector<std::string>{"refused: not_leader"});
  }

  // A process restarts from its disk. Without a checkpoint the machine gets all entries again.
  restored_state found{a->disk.hard, {}, a->disk.entries};
  const auto disk = a->disk;
  a.emplace(node_id{1}, found);
  a->disk = disk;
  run(all, 200);
  CHECK(a->machine == std::vector<std::string>{"x"});
}

TEST_CASE("docs/internals/driving-raft.md shows the example that is compiled here") {
  const auto text_of = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(std::string(BELAY_SOURCE_DIR) + "/" + path).rdbuf();
    return text.str();
  };
  const auto between = [](const std::string& text, const std::string& from, const std::string& to) {
    const auto begin = text.find(from);
    const auto end = text.find(to, begin == std::string::npos ? begin : begin + from.size());
    return end == std::string::npos ? std::string() : text.substr(begin + from.size(), end - begin - from.size());
  };
  const auto here = between(text_of("tests/unit/protocol/raft/driving_test.cpp"), "// [example\n", "// example]\n");
  const auto shown = between(text_of("docs/internals/driving-raft.md"), "```cpp\n", "```\n");
  REQUIRE(!here.empty());
  CHECK(shown == here);
}
