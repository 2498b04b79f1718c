#pragma once
// Chooses the thread of an actor. By default it is a thread of CAF's scheduler. Actors that every
// request passes share a thread with their sockets, so that a message needs no thread switch
// (docs/internals/adr/0004-threads.md). Long waits are timed there, too (docs/internals/adr/0007-event-loop.md).

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <caf/actor_system.hpp>
#include <caf/execution_unit.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace belay::actors {

/// A thread that runs hosted actors. A null host means CAF's scheduler (as in the simulator).
class actor_host {
public:
  virtual ~actor_host() = default;
  /// An actor that is scheduled on this unit runs on the host's thread.
  virtual caf::execution_unit* entry() = 0;
  /// CAF's multiplexer dispatches by subtype: only an io_actor stays on its thread.
  virtual caf::resumable::subtype_t subtype() const = 0;
  /// Calls `then` on the host's thread when `d` has passed, or never if the host ends first.
  /// Unlike CAF's clock it needs no other thread. Call it on the host's thread.
  virtual void after(std::chrono::nanoseconds d, std::function<void()> then) = 0;
};

/// End of a wait of `d` that begins now, rounded up to 100 us, so that waits can end together.
inline std::chrono::steady_clock::time_point end_of_wait(std::chrono::nanoseconds d) {
  constexpr std::chrono::nanoseconds grid = std::chrono::microseconds(100);
  const std::chrono::nanoseconds end = std::chrono::steady_clock::now().time_since_epoch() + d;
  return std::chrono::steady_clock::time_point((end + grid - std::chrono::nanoseconds(1)) / grid * grid);
}

/// A wait of `most`, or up to `slack` less. Waits of the same length end together:
/// at a multiple of it, or as close to one as `slack` allows. @pre most > slack > 0
inline std::chrono::nanoseconds rounded_wait(std::chrono::nanoseconds most, std::chrono::nanoseconds slack) {
  const std::chrono::nanoseconds since = std::chrono::steady_clock::now().time_since_epoch();
  const auto whole = (since + most) / most * most - since;
  return std::max(whole, most - slack);
}

/// Runs actors on the thread of an Asio io_context (one thread runs it).
class asio_host final : public actor_host {
public:
  asio_host(caf::actor_system& system, boost::asio::io_context& loop)
      : context_(system, *this), entry_(*this), loop_(loop) {}

  caf::execution_unit* entry() override { return &entry_; }
  caf::resumable::subtype_t subtype() const override { return caf::resumable::scheduled_actor; }
  /// The context of an actor when a socket callback on this thread sends on its behalf.
  caf::execution_unit* context() { return &context_; }
  boost::asio::io_context& loop() { return loop_; }

  void after(std::chrono::nanoseconds d, std::function<void()> then) override {
    auto timer = std::make_unique<boost::asio::steady_timer>(loop_, end_of_wait(d));
    auto& t = *timer;
    t.async_wait([timer = std::move(timer), then = std::move(then)](boost::system::error_code error) {
      if (!error)
        then();
    });
  }

private:
  // Messages handled between two polls of the sockets.
  static constexpr std::size_t max_throughput = 256;

  void schedule(caf::resumable* r) {
    boost::asio::post(loop_, [this, r] { run(r); });
  }

  void run(caf::resumable* r) {
    switch (r->resume(&context_, max_throughput)) {
    case caf::resumable::resume_later:
      schedule(r);
      break;
    case caf::resumable::shutdown_execution_unit:
      break;
    default:
      caf::intrusive_ptr_release(r); // the reference that enqueue or launch took
    }
  }

  /// Unit under which hosted actors run. Actors that they send to are scheduled as usual.
  struct context_unit final : caf::execution_unit {
    context_unit(caf::actor_system& system, asio_host&) : execution_unit(&system) {}
    void exec_later(caf::resumable* r) override { system().scheduler().enqueue(r); }
  };
  struct entry_unit final : caf::execution_unit {
    explicit entry_unit(asio_host& h) : execution_unit(nullptr), host(h) {}
    void exec_later(caf::resumable* r) override { host.schedule(r); }
    asio_host& host;
  };

  context_unit context_;
  entry_unit entry_;
  boost::asio::io_context& loop_;
};

/// Base of an actor that can run on a host, e.g. `class fsm : public hosted<fsm_actor::base>`.
template <class Base>
class hosted : public Base {
public:
  hosted(caf::actor_config& config, actor_host* host) : Base(config), host_(host) {}

  using Base::enqueue;

  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* unit) override {
    Base::enqueue(std::move(element), host_ != nullptr ? host_->entry() : unit);
  }

  void launch(caf::execution_unit* unit, bool lazy, bool hide) override {
    Base::launch(host_ != nullptr ? host_->entry() : unit, lazy, hide);
  }

  caf::resumable::subtype_t subtype() const override { return host_ != nullptr ? host_->subtype() : Base::subtype(); }

  /// Null: CAF's scheduler.
  actor_host* host() const { return host_; }

private:
  actor_host* host_;
};

} // namespace belay::actors
