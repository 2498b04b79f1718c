// A server under systemd (Type=notify): its notifications, and that they stop with a stall.

#include "tests/cluster/cluster_fixture.hpp"
#include "tests/harness/notify_socket.hpp"
#include "tests/harness/scratch.hpp"

#include <csignal>
#include <fstream>
#include <sys/ptrace.h>
#include <sys/wait.h>

using namespace belay::harness;

namespace {

constexpr milliseconds manager_timeout{30000};

/// One server whose service manager is this test.
struct managed_server {
  explicit managed_server(const std::string& watchdog)
      : manager(folder / "notify"), command{"env NOTIFY_SOCKET=" + (folder / "notify") + watchdog + " " +
                                            environment("BELAY_BINARY", BELAY_BINARY_DIR "/belay") +
                                            " agent -config-file {config}"} {
    std::filesystem::create_directory(folder.path() / "node");
    node = std::make_unique<server_node>(command, "node", folder.path() / "node");
    node->configure({{"bootstrap", true}});
  }
  std::vector<pid_t> threads_named(const std::string& name) const {
    std::vector<pid_t> out;
    for (const auto& t :
         std::filesystem::directory_iterator("/proc/" + std::to_string(node->process().pid()) + "/task")) {
      std::string comm;
      std::getline(std::ifstream(t.path() / "comm"), comm);
      if (comm == name)
        out.push_back(std::stoi(t.path().filename().string()));
    }
    return out;
  }

  scratch_folder folder;
  notify_socket manager;
  server_command command;
  std::unique_ptr<server_node> node;
};

} // namespace

TEST_CASE("a server notifies when it answers clients, when it reloads, and when it stops", "[service]") {
  managed_server under(" WATCHDOG_USEC=4000000");
  under.node->start();
  REQUIRE(under.manager.received("READY=1", manager_timeout));
  CHECK(under.node->get("/v1/status/leader", manager_timeout).status == 200); // its first request
  CHECK(under.manager.received("STATUS=Leads the cluster; index ", manager_timeout));
  for (int i = 0; i < 3; ++i)
    CHECK(under.manager.received("WATCHDOG=1", manager_timeout));
  under.node->process().signal(SIGHUP);
  CHECK(under.manager.received("RELOADING=1", manager_timeout));
  CHECK(under.manager.received("READY=1", manager_timeout));
  under.node->process().signal(SIGTERM);
  CHECK(under.manager.received("STOPPING=1", manager_timeout));
  CHECK(under.node->process().wait(manager_timeout));
}

TEST_CASE("a client agent notifies that it is ready without a server", "[service]") {
  managed_server under(" WATCHDOG_USEC=4000000");
  under.node->configure({{"server", false}, {"retry_join", boost::json::array{"127.0.0.1:1"}}});
  under.node->start();
  REQUIRE(under.manager.received("READY=1", manager_timeout));
  CHECK(under.node->get("/v1/agent/services", manager_timeout).status == 200);
  for (int i = 0; i < 3; ++i)
    CHECK(under.manager.received("WATCHDOG=1", manager_timeout));
  under.node->process().signal(SIGTERM);
  CHECK(under.manager.received("STOPPING=1", manager_timeout));
  CHECK(under.node->process().wait(manager_timeout));
}

// A thread that hangs keeps the ports, the process and every connection: only the watchdog notices.
TEST_CASE("a server with one stalled thread does not notify its watchdog", "[service]") {
  const std::string name = GENERATE("http", "caf.multiplexer");
  INFO(name);
  managed_server under(" WATCHDOG_USEC=4000000");
  under.node->start();
  REQUIRE(under.manager.received("READY=1", manager_timeout));
  REQUIRE(under.manager.received("WATCHDOG=1", manager_timeout));
  const auto threads = under.threads_named(name);
  REQUIRE(!threads.empty());
  // Stops only this thread, as in a hanging call. (CAF's worker is named like the multiplexer.)
  for (const auto thread : threads) {
    REQUIRE(ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0);
    REQUIRE(ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0);
    int stopped = 0;
    REQUIRE(waitpid(thread, &stopped, __WALL) == thread);
  }
  CHECK(eventually(manager_timeout, [&] {
    return file_tail(under.node->log_file(), 4000).find("component stalled; watchdog notifications stopped") !=
           std::string::npos;
  }));
  under.manager.drain();
  CHECK_FALSE(under.manager.received("WATCHDOG=1", milliseconds{3000})); // three notification intervals
  for (const auto thread : threads)
    REQUIRE(ptrace(PTRACE_DETACH, thread, nullptr, nullptr) == 0);
  CHECK(under.manager.received("WATCHDOG=1", manager_timeout));
  CHECK(under.node->running());
}
