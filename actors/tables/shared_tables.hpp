#pragma once
// The tables, for gateways that are not on the thread that writes them (docs/adr/0017-several-fronts.md): what one key is can be
// read there and then. A gateway never waits for the writer: if tables are being written, or if they may be older than what somebody was told of,
// it asks the state machine's actor as ever.

#include "actors/messages.hpp"
#include "actors/telemetry/vitals.hpp"
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

/// For the header of stale answers; zero if `then` is later. @param then since the clock's epoch
std::uint64_t milliseconds_since(std::chrono::nanoseconds then, monotonic_time now);

/// Whether tables that have heard of a leader or not, under its lease or not, may answer a read at once.
/// @param lease_until zero: there is no lease here
bool may_read_at_once(http::consistency mode, monotonic_time lease_until, monotonic_time now, bool heard_of_leader);

/// One thread writes and shows, each reader's thread reads.
class shared_tables {
public:
  /// @param readers so many gateways may look, each under a number below that
  /// @param v outlives it
  shared_tables(std::size_t readers, const vitals& v) : vitals_(v), readers_(readers) {}
  shared_tables(const shared_tables&) = delete;
  shared_tables& operator=(const shared_tables&) = delete;

  /// As long as it lives the tables may be written, and nobody looks at them. Waits for those who look now, as long as one read takes.
  class writing {
  public:
    /// @param tables null: nobody else ever looks
    explicit writing(shared_tables* tables);
    writing(const writing&) = delete;
    writing& operator=(const writing&) = delete;
    ~writing();

  private:
    shared_tables* tables_;
  };

  // ---- the writer's
  /// Which tables count from now on. @pre within `writing`, or nobody reads yet
  void show(std::shared_ptr<const state::machine> m) { machine_ = std::move(m); }
  /// How this server stands to its leader.
  /// @param lease_until zero: no lease
  void stands(bool serving, bool knows_leader, monotonic_time lease_until);

  /// What readers go by; zero: no lease.
  monotonic_time lease_until() const {
    return monotonic_time{monotonic_time::duration(lease_until_.load(std::memory_order_acquire))};
  }

  // ---- a reader's
  /// @param reader its number
  /// @returns nullopt: it has to be asked for; else what the actor would answer, without an id
  std::optional<read_result> read(std::size_t reader, const http::read_request& asked, monotonic_time now);

private:
  struct alignas(64) reader_mark {
    std::atomic<bool> looks{false};
  };

  const vitals& vitals_;
  std::atomic<bool> written_{false};
  std::vector<reader_mark> readers_;
  std::shared_ptr<const state::machine> machine_; ///< null: nothing is shown yet
  std::atomic<bool> serving_{false}, knows_leader_{false};
  std::atomic<monotonic_time::rep> lease_until_{0};
};

} // namespace belay::actors
