// A server beside newer ones: how it handles what it cannot know.

#include "protocol/wire/command_codec.hpp"
#include "storage/log/segment_log.hpp"
#include "tests/cluster/cluster_fixture.hpp"

#include <fstream>
#include <iterator>

using namespace belay::harness;
using namespace belay;

namespace {

/// Appends an entry to the log of a stopped server.
void append_entry(const server_node& n, const std::string& command) {
  auto log = storage::segment_log::open(storage::posix_file_system(), (n.data_folder() / "raft").string());
  REQUIRE(log.ok());
  const auto loaded = (*log)->load();
  REQUIRE(loaded.ok());
  REQUIRE_FALSE(loaded->entries.empty());
  raft::entry next = loaded->entries.back();
  next.index = log_index{next.index.value + 1};
  next.kind = raft::entry_kind::command;
  next.data = make_payload(command);
  raft::persist_batch batch;
  batch.hard = loaded->hard;
  batch.entries = {next};
  REQUIRE((*log)->append({batch}).ok());
}

} // namespace

// Once started as a newer version, it has a command of that version in its log. The old one's last
// log lines must say what to do, and its exit code must report a failure.
TEST_CASE("a server whose log has an entry of a newer feature level exits, and reports what to install", "[versions]") {
  auto cluster = ready_cluster(1);
  auto& node = cluster->node(0);
  CHECK(node.put("/v1/kv/a", "x").body.starts_with("true"));
  node.stop();
  append_entry(node, wire::encode_needs({0xfff0, "9.8.7"}) + "\xc8made up");
  for (int start = 0; start < 2; ++start) { // the next start fails the same way, and does no harm
    node.start();
    const auto end = node.process().wait(milliseconds{20000});
    REQUIRE(end);
    CHECK(end->signal == 0); // no core dump: nothing is wrong with the program
    CHECK(end->code == 1);
  }
  std::ifstream in(node.log_file());
  const std::string response{std::istreambuf_iterator<char>(in), {}};
  CAPTURE(response);
  CHECK(response.find("committed entry not readable by this version; stopping") != std::string::npos);
  CHECK(response.find("install Belay 9.8.7 or newer on this server; its data can stay") != std::string::npos);
}
