#pragma once
// Decides what happens next in a simulated run. The actors of all nodes handle one message at a
// time, on CAF's test scheduler; virtual time advances when no actor has mail.

#include "sim/environment/event_trace.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

namespace belay::sim {

enum class actor_kind : std::uint8_t {
  raft_peer,
  fsm,
  watches,
  reaper,
  log,
  checkpoints,
  links,
  gateway,
  client,
  delays,
  keeper,
  agent,
  sockets
};
const char* name_of(actor_kind k);

/// One living actor of the simulation.
struct enlisted {
  std::uint64_t number = 0; ///< in order of creation
  std::size_t node = no_node;
  actor_kind kind = actor_kind::client;
  caf::actor handle;
};

class schedule {
public:
  schedule(tape& choices, event_trace& trace);
  ~schedule();
  schedule(const schedule&) = delete;
  schedule& operator=(const schedule&) = delete;

  caf::actor_system& system() { return *system_; }
  virtual_time now() const;
  /// The same on the actor system's clock.
  std::chrono::steady_clock::time_point system_now() const;

  /// Runs `what` at `when` (now, if that has passed), after what was scheduled before for then.
  void at(virtual_time when, std::function<void()> what);
  void after(virtual_time d, std::function<void()> what) { at(now() + d, std::move(what)); }

  // ---- actors
  /// From now on step() handles its messages. An exception in a handler ends only this actor.
  std::uint64_t enlist(std::size_t node, actor_kind kind, caf::actor handle);
  /// Ends all actors of that node at once. Messages that they have not begun are lost.
  void kill(std::size_t node);
  /// Handles now the one message that an actor's disk is busy with (see `busy`).
  bool finish_busy(std::size_t node, actor_kind kind);
  bool is_busy(std::size_t node, actor_kind kind) const;
  /// Pauses the node's actors; their mail waits.
  void pause(std::size_t node);
  void resume(std::size_t node);

  // ---- callbacks and settings of the owner
  /// How long an actor takes for its next message. Null or zero: no time. Meanwhile the other
  /// actors of its thread wait, too (docs/internals/adr/0004-threads.md).
  std::function<virtual_time(const enlisted&)> busy;
  std::function<void(const enlisted&, const caf::type_erased_tuple&)> before;
  std::function<void(const enlisted&)> after_message;

  /// How often, per million, an actor other than the oldest runnable one goes next.
  std::uint32_t shuffle_per_million = 0;

  /// Handles one message, or advances time to the next event. @returns false when `end` is reached.
  bool step(virtual_time end);
  std::uint64_t messages() const { return messages_; }

private:
  struct system_config : caf::actor_system_config {
    system_config() { set("scheduler.policy", caf::atom("testing")); }
  };
  struct slot {
    enlisted who;
    caf::abstract_actor* actor = nullptr; ///< that of `who`, looked up once
    caf::resumable* put_aside = nullptr;  ///< busy, or its node is paused
    bool busy = false;                    ///< it handles a message; its next one is put aside
    bool due = false;                     ///< the time that the handled message takes is over
  };

  /// Actors of one node that the server runs on one thread have the same value.
  using thread = std::pair<std::size_t, actor_kind>;

  static thread thread_of(const enlisted& who);
  slot* slot_of(caf::resumable* r);
  void put_aside(slot& s, virtual_time until);
  void bring_back(slot& s);
  void run_front(slot* s);
  void go_on(virtual_time until);

  tape& tape_;
  event_trace& trace_;
  system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::scheduler::test_coordinator* coordinator_;
  std::chrono::steady_clock::time_point epoch_;
  std::map<std::uint64_t, slot> slots_;                         ///< by number
  std::unordered_map<const caf::resumable*, slot*> by_address_; ///< for lookups, never iterated
  std::set<std::size_t> paused_;
  std::map<thread, virtual_time> occupied_; ///< until when
  std::multimap<virtual_time, std::function<void()>> events_;
  std::uint64_t slots_made_ = 0;
  std::uint64_t messages_ = 0;
};

} // namespace belay::sim
