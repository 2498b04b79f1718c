// From 0.2.0, whose cursors of changes name no history, to this version and back (docs/reference/changes.md,
// Cursors). A server of 0.2.0 cannot parse a cursor that names one, and would begin a stream at its
// present index. So no client gets such a cursor while a server of 0.2.0 is a member. What clients
// of this version store must be readable for those of 0.2.0.

#include "tests/cluster/changes/change_follower.hpp"
#include "tests/cluster/cluster_fixture.hpp"
#include "tests/cluster/upgrades/replaced_servers.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>

using namespace belay::harness;

namespace {

constexpr auto target = "/v1/kv/app/?recurse&changes";

http_reply poll(server_node& node, const std::string& more = {}) {
  return exchange(node.http_port(), {"GET", target + more, {}, {}, false}, milliseconds{10000});
}

/// Empty: the cursor names no history.
std::string cursor_at(server_node& node) {
  const auto response = poll(node);
  const auto* cursor = response.header("X-Belay-Cursor");
  return cursor == nullptr ? std::string() : *cursor;
}

/// For each server: the first id of a stream that begins at its present index.
std::string id_at(server_node& node) {
  event_stream s(node.http_port(), target, "");
  std::string id;
  (void)eventually(soon, [&] {
    s.read(milliseconds{200}, 65536);
    for (const auto& e : s.take_events())
      id = e.id;
    return !id.empty();
  });
  return id;
}

/// `belay watch -changes` of some version, with its stored cursor.
class watcher {
public:
  watcher(std::string program, std::vector<std::string> options)
      : program_(std::move(program)), options_(std::move(options)) {}

  /// Follows until it has reported these keys, each of which is written when the one before was
  /// reported, and ends. @returns its whole output
  std::string wait_for(server_cluster& cluster, std::size_t node, const std::vector<std::string>& keys) {
    std::ofstream(folder_ / "told").close();
    std::vector<std::string> words{program_, "watch",
                                   "-http-addr=127.0.0.1:" + std::to_string(cluster.node(node).http_port()), "-changes",
                                   "-prefix=app/"};
    words.insert(words.end(), options_.begin(), options_.end());
    words.push_back("cat >>'" + (folder_ / "told") + "'");
    child_process watch(words, folder_ / "errors");
    // A watch without a cursor begins when it is connected, so the key is written repeatedly.
    // Writes are not faster than a busy machine runs the command for each change.
    int times = 0;
    std::chrono::steady_clock::time_point next;
    for (const auto& key : keys) {
      next = std::chrono::steady_clock::now();
      const bool received = eventually(soon, [&] {
        if (std::chrono::steady_clock::now() >= next) {
          (void)cluster.node(0).put("/v1/kv/app/" + key, std::to_string(++times));
          next = std::chrono::steady_clock::now() + milliseconds{1000};
        }
        return file_text(folder_ / "told").find("\"app/" + key + "\"") != std::string::npos;
      });
      INFO(program_ << " " << options_.front() << " " << key << ": " << file_tail(folder_ / "errors", 2000)
                    << file_tail(folder_ / "told", 1000));
      CHECK(received);
    }
    watch.signal(SIGTERM); // what it had not stored is delivered again
    CHECK(watch.wait(soon).has_value());
    return file_text(folder_ / "told");
  }

private:
  std::string program_;
  std::vector<std::string> options_;
  scratch_folder folder_;
};

bool has_gap(const std::string& received) {
  return received.find("\"gap\"") != std::string::npos || received.find("\"snapshot\"") != std::string::npos;
}

} // namespace

TEST_CASE(
    "cursors name their history after the last server of 0.2.0 is replaced, and followers continue, there and back",
    "[.upgrade][no_histories_before]") {
  raise_file_limit();
  const auto old_program = program_of_before();
  const auto new_program = server_command::from_environment(BELAY_BINARY_DIR);
  const auto old_cli = environment("BELAY_OLD_BINARY", ""),
             new_cli = environment("BELAY_BINARY", BELAY_BINARY_DIR "/belay");
  scratch_folder kept;
  const auto file = "-place=" + (kept / "place");
  // Each version resumes from what the other one has stored.
  watcher new_file(new_cli, {file}), old_file(old_cli, {file});
  int written = 0;
  const auto go_on = [&](server_cluster& cluster, std::size_t node, const std::vector<watcher*>& all) {
    for (auto* w : all) {
      const auto key = "k" + std::to_string(++written);
      // What is written while no watch runs is reported, too.
      REQUIRE(eventually(soon,
                         [&] { return cluster.node(0).put("/v1/kv/app/away-" + key, "1").body.starts_with("true"); }));
      const auto received = w->wait_for(cluster, node, {key});
      INFO(received);
      CHECK_FALSE(has_gap(received));
      CHECK(received.find("away-" + key) != std::string::npos);
    }
  };
  const auto each_goes_on = [&](server_cluster& cluster, std::size_t node) {
    go_on(cluster, node, {&new_file, &old_file, &new_file});
  };

  server_cluster cluster(old_program, {3, "node", {}});
  cluster.start_all();
  cluster.wait_ready();
  (void)old_file.wait_for(cluster, 0, {"first", "noted-first"}); // it has stored a cursor from now on
  CHECK(file_text(kept / "place").find_first_not_of("0123456789.\n") == std::string::npos);

  const auto becomes = [&](std::size_t i, const server_command& program) {
    INFO("server " << i << " becomes " << program.text);
    replace(cluster.node(i), program);
    cluster.wait_ready();
    CHECK(cluster.wait_equal() == "");
  };
  becomes(0, new_program);
  becomes(1, new_program);
  for (const std::size_t i : {0, 1}) {
    INFO("server " << i << " beside one of 0.2.0");
    CHECK(cursor_at(cluster.node(i)).empty());
    CHECK(id_at(cluster.node(i)).find('@') == std::string::npos);
    // A cursor that cannot belong to this history is rejected nevertheless.
    CHECK(poll(cluster.node(i), "&index=1000000&wait=2s").status == 410);
  }
  each_goes_on(cluster, 0);
  each_goes_on(cluster, 2);

  becomes(2, new_program);
  std::string history;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    INFO("server " << i);
    REQUIRE(eventually(soon, [&] { return !cursor_at(cluster.node(i)).empty(); }));
    const auto cursor = cursor_at(cluster.node(i));
    history = history.empty() ? cursor.substr(cursor.find('@')) : history;
    CHECK(cursor.substr(cursor.find('@')) == history);
    CHECK(id_at(cluster.node(i)).ends_with(history));
    CHECK(poll(cluster.node(i), "&index=" + cursor + "&wait=10ms").ok());
    CHECK(poll(cluster.node(i), "&index=" + cursor.substr(0, cursor.find('@')) + "&wait=10ms").ok());
    CHECK(poll(cluster.node(i), "&index=5@0123456789abcdef&wait=2s").status == 410);
  }
  const auto before_restarts = cursor_at(cluster.node(0));
  each_goes_on(cluster, 1);
  for (std::size_t i = 0; i < cluster.size(); ++i)
    becomes(i, new_program); // a restart does not start a new history
  CHECK(poll(cluster.node(1), "&index=" + before_restarts + "&wait=10ms").ok());

  // Downgrade: nothing was written that 0.2.0 cannot read.
  becomes(0, old_program);
  for (const std::size_t i : {1, 2})
    CHECK(eventually(soon, [&] { return cursor_at(cluster.node(i)).empty(); }));
  each_goes_on(cluster, 0);
  becomes(1, old_program);
  becomes(2, old_program);
  each_goes_on(cluster, 1);
  for (std::size_t i = 0; i < cluster.size(); ++i)
    becomes(i, new_program);
  each_goes_on(cluster, 2);

  // Members of both versions in one group. (Not before: servers of 0.2.0 cannot be restarted within
  // ten minutes of an acknowledgement.)
  watcher new_group(new_cli, {"-group=group"}), old_group(old_cli, {"-group=group"});
  // It has stored the snapshot when it reports a later change.
  (void)old_group.wait_for(cluster, 0, {"joined", "noted"});
  go_on(cluster, 0, {&new_group, &old_group, &new_group, &old_group, &new_group});
}
