#pragma once
// Helpers for tests of recipes: a timeline with a model server, and running a task to its end.

#include "client/core/mutants.hpp"
#include "tests/unit/client/model_server.hpp"

#include <belay/task.hpp>

#include <catch2/catch.hpp>

namespace belay::client_tests {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

/// A server and one client, by default without faults.
class virtual_cluster {
public:
  explicit virtual_cluster(dialect speaks = dialect::belay, std::uint64_t seed = 1,
                           virtual_time::fault_rates rates = {})
      : time(seed, rates), server(time, speaks), client(time, server) {}

  /// Runs the task until it is done. @pre it ends within an hour
  template <class T>
  T run(task<T> t) {
    t.start();
    REQUIRE(time.run_until(time.now() + hours(1), [&] { return t.done(); }));
    return t.take();
  }
  void pass(std::chrono::nanoseconds length) {
    auto end = time.now() + length;
    bool over = false;
    time.at(end, [&over] { over = true; });
    time.run_until(end, [&over] { return over; });
  }
  deadline within(std::chrono::nanoseconds length, stop_source* stop = nullptr) {
    return deadline(time.now() + length, stop);
  }

  virtual_time::timeline time;
  model_server server;
  virtual_time::process client;
};

/// Switches on a bug of a recipe, for as long as it exists.
class mutant_switch {
public:
  explicit mutant_switch(std::string_view name) { detail::active_client_mutant = name; }
  ~mutant_switch() { detail::active_client_mutant = {}; }
  mutant_switch(const mutant_switch&) = delete;
  mutant_switch& operator=(const mutant_switch&) = delete;
};

} // namespace belay::client_tests
