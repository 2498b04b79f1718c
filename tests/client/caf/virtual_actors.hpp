#pragma once
// Actors, coordinators and a model of the server in virtual time: CAF's test scheduler advances in
// steps of a millisecond, together with the timeline of the servers. A run is a seed.

#include "client/core/mutants.hpp"
#include "client/core/numbered_requests.hpp"
#include "tests/unit/client/model_server.hpp"

#include <belay/caf/coordinator.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::client_tests {

using std::chrono::minutes;
using std::chrono::seconds;

/// The network of virtual time, for a coordinator.
class virtual_transport final : public transport {
public:
  virtual_transport(virtual_time::timeline& time, virtual_time::server& server) : env(time, server), requests_(env) {}
  void ask(std::uint64_t ticket, const request& q, instant deadline, completion done) override {
    requests_.ask(ticket, q, deadline, std::move(done));
  }
  void forget(std::uint64_t ticket) noexcept override { requests_.forget(ticket); }

  virtual_time::process env;

private:
  belay::detail::numbered_requests requests_;
};

/// What an actor received.
struct received {
  std::vector<belay::caf::grant> grants;
  std::vector<belay::caf::lost> losses;
  std::vector<error> errors;
  std::vector<belay::caf::key_value> values;
  std::vector<belay::caf::leadership> leaderships;
  int done = 0;
  bool slow = false; ///< does not respond that it has handled a change
  std::vector<::caf::response_promise> unhandled;

  /// Whether it holds something now, as far as it knows.
  bool holds() const { return grants.size() > losses.size() + static_cast<std::size_t>(done); }
};

/// Sends the requests that it is given, and records the responses.
inline ::caf::behavior worker(::caf::event_based_actor* self, const belay::caf::coordinator_actor& c,
                              const std::shared_ptr<received>& log) {
  auto failed = [log](::caf::error& e) { log->errors.push_back(belay::caf::error_of(e)); };
  auto granted = [log](belay::caf::grant& g) { log->grants.push_back(g); };
  auto done = [log] { ++log->done; };
  auto value = [log](belay::caf::key_value& v) { log->values.push_back(v); };
  using ::caf::infinite;
  return {
      [=](belay::caf::lock& m) { self->request(c, infinite, m).then(granted, failed); },
      [=](belay::caf::permits& m) { self->request(c, infinite, m).then(granted, failed); },
      [=](belay::caf::campaign& m) { self->request(c, infinite, m).then(granted, failed); },
      [=](belay::caf::check& m) { self->request(c, infinite, m).then(granted, failed); },
      [=](belay::caf::release& m) { self->request(c, infinite, m).then(done, failed); },
      [=](belay::caf::transfer& m) { self->request(c, infinite, m).then(done, failed); },
      [=](belay::caf::put& m) { self->request(c, infinite, m).then(done, failed); },
      [=](belay::caf::get& m) { self->request(c, infinite, m).then(value, failed); },
      [=](belay::caf::follow& m) { self->request(c, infinite, m).then(value, failed); },
      [=](belay::caf::unfollow& m) { self->request(c, infinite, m).then(done, failed); },
      [=](belay::caf::close m) { self->request(c, infinite, m).then(done, failed); },
      [=](belay::caf::who_leads& m) {
        self->request(c, infinite, m).then([log](belay::caf::leadership& l) { log->leaderships.push_back(l); }, failed);
      },
      [=](::caf::exit_reason how) { self->quit(how); },
      [=](::caf::ok_atom) {
        for (auto& each : std::exchange(log->unhandled, {}))
          each.deliver(::caf::unit);
      },
      [=](belay::caf::lost& m) { log->losses.push_back(m); },
      [=](belay::caf::changed& m) -> ::caf::result<void> {
        log->values.push_back(m.now);
        if (!log->slow)
          return ::caf::unit;
        auto later = self->make_response_promise();
        log->unhandled.push_back(later);
        return later;
      },
  };
}

class virtual_actors {
public:
  explicit virtual_actors(std::uint64_t seed = 1, virtual_time::fault_rates rates = {})
      : time(seed, rates), server(time, dialect::belay), seed_(seed), system(on_test_scheduler(config_)),
        scheduler(dynamic_cast<::caf::scheduler::test_coordinator&>(system.scheduler())) {}

  ~virtual_actors() {
    for (auto& c : coordinators_)
      ::caf::anon_send_exit(c, ::caf::exit_reason::kill);
    for (auto& w : workers_)
      ::caf::anon_send_exit(w, ::caf::exit_reason::kill);
    run();
    scheduler.clock().cancel_all();
    run();
  }

  belay::caf::coordinator_actor coordinator(belay::caf::coordinator_options more = {},
                                            const client_options& options = {}) {
    auto over = std::make_shared<virtual_transport>(time, server);
    more.over = over;
    more.now = [over] { return over->env.shows(); };
    more.seed = ++seed_;
    coordinators_.push_back(belay::caf::coordinator(system, options, more));
    return coordinators_.back();
  }

  struct who {
    ::caf::actor actor;
    std::shared_ptr<received> log = std::make_shared<received>();
    received* operator->() const { return log.get(); }
  };
  who spawn(const belay::caf::coordinator_actor& c) {
    who w;
    w.actor = system.spawn(worker, c, w.log);
    workers_.push_back(w.actor);
    return w;
  }
  template <class Message>
  void post(const who& w, Message m) {
    ::caf::anon_send(w.actor, std::move(m));
  }
  /// exit_reason::normal: it quits by itself, since CAF's actors ignore such an exit message.
  void end(const who& w, ::caf::exit_reason how = ::caf::exit_reason::kill) {
    if (how == ::caf::exit_reason::normal)
      ::caf::anon_send(w.actor, how);
    else
      ::caf::anon_send_exit(w.actor, how);
  }

  void run() {
    while (scheduler.try_run_once()) {
    }
  }
  bool run_until(std::chrono::nanoseconds longest, const std::function<bool()>& holds) {
    auto end = time.now() + longest;
    for (;;) {
      run();
      if (holds() || time.now() >= end)
        return holds();
      auto next = time.now() + milliseconds(1);
      time.at(next, [] {});
      time.run_until(next, [] { return false; });
      run();
      scheduler.clock().advance_time(milliseconds(1));
    }
  }
  void pass(std::chrono::nanoseconds length) {
    run_until(length, [] { return false; });
  }

  virtual_time::timeline time;
  model_server server;

private:
  static ::caf::actor_system_config& on_test_scheduler(::caf::actor_system_config& config) {
    config.set("scheduler.policy", ::caf::atom("testing"));
    return belay::caf::add_to(config);
  }

  std::uint64_t seed_;
  ::caf::actor_system_config config_;

public:
  ::caf::actor_system system;
  ::caf::scheduler::test_coordinator& scheduler;

private:
  std::vector<belay::caf::coordinator_actor> coordinators_;
  std::vector<::caf::actor> workers_;
};

} // namespace belay::client_tests
