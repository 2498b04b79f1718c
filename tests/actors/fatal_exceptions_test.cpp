// After an exception in an actor the node must not continue without it (docs/internals/pitfalls.md F12).

#include "actors/agent/registration_keeper.hpp"
#include "actors/consensus/peer_link.hpp"
#include "actors/gateway/http_gateway.hpp"
#include "actors/node/node_composition.hpp"
#include "actors/tables/checkpointer.hpp"
#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "sim/disks/simulated_checkpoints.hpp"
#include "tests/actors/memory_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <thread>

using namespace belay;
using namespace belay::actors;

namespace {

struct node_ended {};

/// What CAF calls when an exception leaves a handler; it is protected.
struct handler_of : caf::scheduled_actor {
  static caf::scheduled_actor::exception_handler& in(caf::scheduled_actor& a) {
    return a.*(&handler_of::exception_handler_);
  }
};

struct failing_config : caf::actor_system_config {
  failing_config() {
    load<caf::io::middleman>();
    set("scheduler.max-threads", std::size_t{1});
    set("middleman.workers", std::size_t{0});
  }
};

/// A store in which each commit fails with bad_alloc.
struct store_without_memory final : storage::checkpoint_store {
  result<std::optional<storage::checkpoint_info>> info() override { return std::optional<storage::checkpoint_info>(); }
  status load(const std::function<void(std::uint8_t, std::string_view, std::string_view)>&) override { return done{}; }
  status commit(const storage::checkpoint_delta&) override { throw std::bad_alloc(); }
  std::optional<log_index> older_index() const override { return std::nullopt; }
  std::uint64_t bytes() const override { return 0; }
  result<std::uint64_t> keep_older() override { return failure{"no"}; }
  result<std::optional<std::string>> fall_back() override { return std::optional<std::string>(); }
  status start_empty() override { return done{}; }
  result<bool> keep_changes(const storage::checkpoint_info&, const storage::kept_delta&) override { return true; }
  result<std::optional<log_index>>
  load_changes(const std::function<void(log_index, std::uint64_t, std::string_view)>&) override {
    return std::optional<log_index>();
  }
  result<chunk> read_snapshot(log_index, std::uint64_t, std::size_t) override { return failure{"no"}; }
  result<std::uint64_t> write_snapshot(const raft::snapshot_meta&, std::uint64_t, std::string_view, bool,
                                       storage::snapshot_validator*) override {
    return failure{"no"};
  }
};

std::string text_in(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file that is removed at the end.
struct scratch_file {
  scratch_file() { close(mkstemp(path.data())); }
  ~scratch_file() { std::remove(path.c_str()); }
  std::string path = "/tmp/belay-test-XXXXXX";
};

/// Runs `what` in another process, which logs to `file`. @returns its fatal signal, or 0
template <class F>
int signal_that_ends(const std::string& file, F&& what) {
  const auto child = fork();
  if (child == 0) {
    log::settings s;
    s.to_stdout = false;
    s.file = file;
    log::configure(s);
    std::signal(SIGABRT, SIG_DFL); // remove Catch's handler
    alarm(30);
    what();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

} // namespace

TEST_CASE("an exception in any actor of a node ends the node", "[actors]") {
  failing_config config;
  caf::actor_system system(config);
  multiplexer_host host(system);
  metrics counted;
  node_plan plan;
  plan.self = {node_id{1}, "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", "n1", "127.0.0.1:1"};
  plan.datacenter = "dc1";
  auto disk =
      read_disk(std::make_shared<actors::testing::memory_log>(), std::make_shared<sim::simulated_checkpoints>());
  REQUIRE(disk.ok());
  plan.disk = std::move(*disk);
  plan.wall_clock = [] { return cluster_time{1}; };
  plan.fail_stop = [] { throw node_ended{}; };
  peer_link_settings links;
  links.listen_host = "127.0.0.1";
  links.host = &host;
  const auto listener = listen_for_peers(links);
  REQUIRE(listener.ok());
  plan.spawn_links = [&](const node_actors_ptr& handles) {
    caf::actor_config on_multiplexer{&system.middleman().backend()};
    return caf::actor_cast<peer_link_actor>(system.spawn_class<peer_link, caf::no_spawn_options>(
        on_multiplexer, handles, links, *listener, node_id{1}, counted));
  };
  plan.spawn_gateway = [&](const node_actors_ptr& handles) -> http_gateway_actor {
    return system.spawn<http_gateway>(nullptr, handles, gateway_settings{}, counted);
  };
  plan.spawn_keeper = [&](const node_actors_ptr& handles) {
    return system.spawn<registration_keeper>(handles, "/nonexistent");
  };
  log::settings quiet;
  quiet.to_stdout = false;
  log::configure(quiet);
  std::size_t actors = 0;
  {
    node_composition node(system, std::move(plan), std::make_shared<vitals>(), counted);
    node.for_each_actor([&](const auto& handle) {
      auto* actor = dynamic_cast<caf::scheduled_actor*>(caf::actor_cast<caf::abstract_actor*>(handle));
      REQUIRE(actor != nullptr);
      INFO("actor " << ++actors << " in the order of node_composition::for_each_actor");
      auto thrown = std::make_exception_ptr(std::bad_alloc());
      CHECK_THROWS_AS(handler_of::in(*actor)(actor, thrown), node_ended);
    });
    CHECK(actors == 11);
    node.stop([] {});
  }
  system.await_all_actors_done();
}

TEST_CASE("the log names the actor that ended the process, and the exception", "[actors]") {
  const scratch_file file;
  const auto signal = signal_that_ends(file.path, [] {
    failing_config config;
    caf::actor_system system(config);
    metrics counted;
    auto handles = std::make_shared<node_actors>();
    auto c = system.spawn<checkpointer, caf::detached>(handles, std::make_shared<store_without_memory>(),
                                                       checkpointer_settings(), std::make_shared<vitals>(), counted);
    write_checkpoint w;
    w.meta.index = log_index{1};
    caf::anon_send(c, w);
    std::this_thread::sleep_for(std::chrono::seconds(20));
  });
  CHECK(signal == SIGABRT);
  const auto response = text_in(file.path);
  INFO(response);
  CHECK(response.find("stopping after an exception actor=checkpointer exception=std::bad_alloc") != std::string::npos);
}

TEST_CASE("an exception outside of actors is in the log, too", "[actors]") {
  const scratch_file file;
  const auto signal = signal_that_ends(file.path, [] {
    log_uncaught_exceptions();
    std::thread([] { throw std::length_error("field too large"); }).join();
  });
  CHECK(signal == SIGABRT);
  const auto response = text_in(file.path);
  INFO(response);
  CHECK(response.find("exception=\"field too large\"") != std::string::npos);
}
