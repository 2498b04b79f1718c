#pragma once
// The tables for gateways on threads other than the writer's (docs/internals/adr/0017-several-http-threads.md):
// they read a single key directly. A gateway never waits for the writer. While tables are written,
// or may be older than what a client has seen, it sends the read to the fsm as usual.

#include "actors/messages.hpp"
#include "actors/telemetry/vitals.hpp"
#include "protocol/base/check.hpp"
#include "protocol/http/request.hpp"
#include "protocol/state/machine.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace belay::actors {

/// Age for the header of stale responses; zero if `then` is later.
/// @param then since the clock's epoch
std::uint64_t milliseconds_since(std::chrono::nanoseconds then, monotonic_time now);

/// Whether a read may be answered at once, with or without a lease and contact to a leader.
/// @param lease_until zero: there is no lease here
bool may_read_at_once(http::consistency mode, monotonic_time lease_until, monotonic_time now,
                      bool received_from_leader);

/// One thread writes and publishes; each reader has its own thread.
class shared_tables {
public:
  /// @param readers number of gateways that may read; each has an index below this number
  /// @param v must outlive this object
  shared_tables(std::size_t readers, const vitals& v) : vitals_(v), readers_(readers) {}
  shared_tables(const shared_tables&) = delete;
  shared_tables& operator=(const shared_tables&) = delete;

  /// While it exists the tables may be written and are not read. Waits for running reads to end.
  class writing {
  public:
    /// @param tables null: there are no other readers
    explicit writing(shared_tables* tables);
    writing(const writing&) = delete;
    writing& operator=(const writing&) = delete;
    ~writing();

  private:
    shared_tables* tables_;
  };

  // ---- for the writer
  /// Sets the tables to read from now on. @pre within `writing`, or before the first read
  void show(std::shared_ptr<const state::machine> m) {
    PRECONDITION(m != nullptr);
    machine_ = std::move(m);
  }
  /// Sets the role of this server and its contact to the leader.
  /// @param lease_until zero: no lease
  void stands(bool serving, bool has_leader, monotonic_time lease_until);

  /// The lease that readers use; zero: none.
  monotonic_time lease_until() const {
    return monotonic_time{monotonic_time::duration(lease_until_.load(std::memory_order_acquire))};
  }

  // ---- for a reader
  /// @param reader its index
  /// @returns nullopt: the actor must answer; otherwise its answer, without an id
  std::optional<read_result> read(std::size_t reader, const http::read_request& requested, monotonic_time now);

private:
  struct alignas(64) reader_slot {
    std::atomic<bool> looks{false};
  };

  const vitals& vitals_;
  std::atomic<bool> written_{false};
  std::vector<reader_slot> readers_;
  std::shared_ptr<const state::machine> machine_; ///< null: nothing is published yet
  std::atomic<bool> serving_{false}, has_leader_{false};
  std::atomic<monotonic_time::rep> lease_until_{0};
};

} // namespace belay::actors
