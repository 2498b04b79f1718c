// A server beside newer ones: how it handles what it cannot know. Clients that use old names.

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

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++n;
  return n;
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

// protocol/base/renamed_names.hpp; all rows of the table are in unit tests.
TEST_CASE("a server takes old names, answers with both, and logs each old one once", "[versions]") {
  auto cluster = ready_cluster(
      1,
      {{"http_config", {{"fronts", 2}}}, {"log_level", "WARN"}, {"telemetry", {{"prometheus_retention_time", "1h"}}}});
  auto& node = cluster->node(0);
  const auto session = [&] {
    const auto made = node.put("/v1/session/create", R"({"TTL":"60s","NodeChecks":[]})").body;
    return std::string(boost::json::parse(made).as_object().at("ID").as_string());
  };
  const auto a = session(), b = session();
  CHECK(node.put("/v1/claim/job?kind=election&session=" + a + "&id=a", "").status == 200);
  const auto waits = node.put("/v1/claim/job?session=" + b + "&id=b", "").body;
  CHECK(waits.find("\"Position\":1,\"Place\":1,") != std::string::npos);
  CHECK(node.put("/v1/claim/job/hand-over?id=a", "").status == 200);
  CHECK(node.put("/v1/claim/job/hand-over?id=b", "").status == 409); // no waiter
  const auto ended = node.put("/v1/claim/job?session=" + a + "&id=a", "");
  CHECK(ended.status == 410);
  REQUIRE(ended.header("X-Belay-Reason") != nullptr);
  CHECK(*ended.header("X-Belay-Reason") == "transferred");

  const auto limit = milliseconds{10000};
  for (int i = 0; i < 2; ++i)
    CHECK(exchange(node.http_port(), {"DELETE", "/v1/outcome/k", {}, std::nullopt, false}, limit)
              .body.find("\"State\":\"void\"") != std::string::npos);
  CHECK(node.put("/v1/outcome/k/cancel", "").body.find("\"State\":\"cancelled\"") != std::string::npos);

  const auto numbers = node.get("/v1/agent/metrics?format=prometheus").body;
  CHECK(times_in(numbers, "\nconsul_http_buffered_bytes ") == 1);
  CHECK(times_in(numbers, "\nconsul_http_held_bytes ") == 1);

  const auto log = file_text(node.log_file());
  INFO(log);
  CHECK(times_in(log, "deprecated name used") == 3);
  CHECK(times_in(log, "old_name=http_config.fronts name=http_config.threads") == 1);
  CHECK(times_in(log, "old_name=\"PUT /v1/claim/NAME/hand-over\"") == 1);
  CHECK(times_in(log, "old_name=\"DELETE /v1/outcome/KEY\"") == 1);
}
