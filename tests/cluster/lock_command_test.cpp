#include "tests/cluster/cluster_fixture.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace belay::harness;
using std::chrono::steady_clock;

namespace {

/// What the holders wrote, one line each: `in ID FENCE`, `out ID`, or `TWO AT ONCE ID`.
std::vector<std::string> lines_of(const std::string& file) {
  std::istringstream in(file_text(file));
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    out.push_back(line);
  return out;
}

std::size_t entered(const std::vector<std::string>& lines) {
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [](const std::string& l) { return l.starts_with("in "); }));
}

} // namespace

// Three programs on three servers take turns with one lock. The leader is killed, restarts, and the
// next one is killed. A program that believes it holds the lock also takes a file lock, which ends
// with its process. If the file is already locked, two programs held the lock. Fencing tokens must
// grow.
TEST_CASE("belay lock: never two at once while leaders are killed", "[.lock][failover]") {
  const auto rounds = number_from_environment("BELAY_LOCK_ROUNDS", 1);
  auto cluster = ready_cluster(3);
  if (cluster->command().is_reference())
    return;
  scratch_folder folder;
  const auto log = folder / "log", guard = folder / "guard";
  const std::string belay = environment("BELAY_BINARY", BELAY_BINARY_DIR "/belay");
  // Holders keep the lock long enough that most kills happen while one is at work.
  const auto work = folder.write("work", "exec 9>'" + guard +
                                             "'\n"
                                             "flock -n 9 || { echo \"TWO AT ONCE $$\" >>'" +
                                             log +
                                             "'; exit 1; }\n"
                                             "echo \"in $$ $BELAY_LOCK_FENCE\" >>'" +
                                             log +
                                             "'\n"
                                             "sleep 0.3\n"
                                             "echo \"out $$\" >>'" +
                                             log + "'\n");
  std::vector<std::unique_ptr<child_process>> clients;
  for (std::size_t i = 0; i < cluster->size(); ++i) {
    const auto address = "127.0.0.1:" + std::to_string(cluster->node(i).http_port());
    const auto loop =
        folder.write("client-" + std::to_string(i), "while :; do '" + belay + "' lock -http-addr=" + address +
                                                        " jobs/one \"sh '" + work + "'\"; sleep 0.1; done\n");
    clients.push_back(std::make_unique<child_process>(std::vector<std::string>{"sh", loop}, folder / "clients"));
  }
  const auto wait_for_more = [&](std::size_t more) {
    const auto wanted = entered(lines_of(log)) + more;
    return eventually(milliseconds{120000}, [&] { return entered(lines_of(log)) >= wanted; });
  };
  REQUIRE(wait_for_more(3));
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto leader = cluster->wait_leader();
    const auto killed = steady_clock::now();
    cluster->node(leader).kill_hard();
    const auto next = cluster->wait_leader();
    CHECK(next != leader);
    const bool goes_on = wait_for_more(3);
    INFO(file_tail(folder / "clients", 2000));
    REQUIRE(goes_on);
    std::cout << "round " << round + 1 << ": 3 more had the lock " << seconds_since(killed) << " s after the kill, "
              << entered(lines_of(log)) << " in all\n";
    cluster->node(leader).start();
    cluster->wait_ready();
  }
  clients.clear();
  const auto lines = lines_of(log);
  std::uint64_t last = 0;
  for (const auto& line : lines) {
    INFO(line);
    CHECK_FALSE(line.starts_with("TWO"));
    if (!line.starts_with("in "))
      continue;
    const auto fence = std::stoull(line.substr(line.rfind(' ') + 1));
    CHECK(fence > last);
    last = fence;
  }
}

// A holder's server is killed for good: the holder must kill its command before the next grant.
TEST_CASE("belay lock: a holder whose server is lost stops its command before the next one starts",
          "[.lock][failover]") {
  auto cluster = ready_cluster(3);
  if (cluster->command().is_reference())
    return;
  scratch_folder folder;
  const auto log = folder / "log", guard = folder / "guard";
  const std::string belay = environment("BELAY_BINARY", BELAY_BINARY_DIR "/belay");
  // It ignores SIGTERM: only SIGKILL ends it, which has to come in time as well.
  const auto work = folder.write("work", "trap '' TERM\nexec 9>'" + guard +
                                             "'\n"
                                             "flock -n 9 || { echo \"TWO AT ONCE $$\" >>'" +
                                             log +
                                             "'; exit 1; }\n"
                                             "echo \"in $$ $BELAY_LOCK_FENCE\" >>'" +
                                             log +
                                             "'\n"
                                             "while :; do sleep 0.2; done\n");
  const auto start = [&](std::size_t i) {
    const auto address = "127.0.0.1:" + std::to_string(cluster->node(i).http_port());
    return std::make_unique<child_process>(std::vector<std::string>{belay, "lock", "-http-addr=" + address,
                                                                    "-child-exit-code", "jobs/two",
                                                                    "sh '" + work + "'"},
                                           folder / "clients");
  };
  const auto leader = cluster->wait_leader();
  const auto first_at = (leader + 1) % 3, second_at = (leader + 2) % 3;
  cluster->wait_registered(first_at);
  cluster->wait_registered(second_at);
  auto first = start(first_at);
  const bool begun = eventually(milliseconds{30000}, [&] { return entered(lines_of(log)) == 1; });
  INFO(file_tail(folder / "clients", 2000));
  INFO(file_text(log));
  REQUIRE(begun);
  auto second = start(second_at);
  cluster->node(first_at).kill_hard();
  const auto end = first->wait(milliseconds{30000});
  INFO(file_tail(folder / "clients", 2000));
  REQUIRE(end);
  CHECK(end->code != 0);
  CHECK(entered(lines_of(log)) == 1);
  CHECK(eventually(milliseconds{90000}, [&] { return lines_of(log).size() > 1; }));
  for (const auto& line : lines_of(log))
    CHECK_FALSE(line.starts_with("TWO"));
}
