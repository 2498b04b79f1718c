#include "tests/cluster/cluster_fixture.hpp"

#include <csignal>
#include <sys/socket.h>

using namespace belay::harness;

// An operator stops a server while clients wait for it. No response may be truncated.
TEST_CASE("SIGTERM lets answers finish", "[signals]") {
  auto cluster = ready_cluster(1);
  auto& node = cluster->node(0);
  for (int i = 0; i < 40; ++i)
    REQUIRE(node.put("/v1/kv/large/" + std::to_string(i), std::string(400000, 'x')).body.starts_with("true"));
  auto whole = node.get("/v1/kv/large/?recurse", milliseconds{30000});
  REQUIRE(whole.ok());
  auto index = *node.get("/v1/kv/large/0").header("X-Consul-Index");

  http_connection poll(node.http_port());
  REQUIRE(poll.send({"GET", "/v1/kv/large/0?wait=120s&index=" + index, {}, {}, false}, milliseconds{5000}) == "");
  http_connection slow(node.http_port());
  REQUIRE(slow.send({"GET", "/v1/kv/large/?recurse", {}, {}, false}, milliseconds{5000}) == "");
  char first = 0;
  REQUIRE(eventually(milliseconds{10000},
                     [&] { return recv(slow.descriptor(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1; }));
  std::vector<std::unique_ptr<http_connection>> writes;
  for (int i = 0; i < 64; ++i) {
    writes.push_back(std::make_unique<http_connection>(node.http_port()));
    REQUIRE(writes.back()->send({"PUT", "/v1/kv/last/" + std::to_string(i), {}, "x", false}, milliseconds{5000}) == "");
  }
  node.process().signal(SIGTERM);

  auto large = slow.receive(milliseconds{30000});
  auto polled = poll.receive(milliseconds{30000});
  CHECK(large.error == "");
  CHECK(large.body.size() == whole.body.size());
  CHECK(polled.error == "");
  std::vector<int> acknowledged;
  for (int i = 0; i < 64; ++i) {
    auto reply = writes[static_cast<std::size_t>(i)]->receive(milliseconds{30000});
    CHECK(reply.error.find("inside") == std::string::npos);
    if (reply.ok() && reply.body.starts_with("true"))
      acknowledged.push_back(i);
  }
  auto end = node.process().wait(milliseconds{30000});
  REQUIRE(end);
  CHECK(end->signal == 0);
  CHECK(end->code == 1); // it did not leave the cluster

  node.start();
  cluster->wait_ready();
  for (int i : acknowledged) {
    INFO("write " << i);
    CHECK(node.get("/v1/kv/last/" + std::to_string(i)).status == 200);
  }
}

// An operator needs more log output from a server that must not be restarted.
TEST_CASE("SIGHUP reloads the log level", "[signals]") {
  auto cluster = ready_cluster(1, {{"log_level", "INFO"}});
  auto& node = cluster->node(0);
  auto debug_lines = [&] {
    auto log = file_tail(node.log_file(), 1 << 20);
    for (auto& c : log)
      c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::size_t lines = 0;
    for (auto at = log.find("DEBUG"); at != log.npos; at = log.find("DEBUG", at + 1))
      ++lines;
    return lines;
  };
  node.put("/v1/kv/a", "1");
  CHECK(debug_lines() == 0);
  cluster->configure({{"log_level", "DEBUG"}});
  node.process().signal(SIGHUP);
  CHECK(eventually(milliseconds{20000}, [&] {
    node.put("/v1/kv/a", "2");
    return debug_lines() > 0;
  }));
  CHECK(node.running());
  cluster->configure({{"log_level", "INFO"}});
  node.process().signal(SIGHUP);
  CHECK(eventually(milliseconds{20000}, [&] {
    auto before = debug_lines();
    for (int i = 0; i < 20; ++i)
      node.get("/v1/kv/a");
    return debug_lines() == before;
  }));
}
