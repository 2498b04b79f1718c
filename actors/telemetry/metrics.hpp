#pragma once
// Metrics of this node, counted by all its actors, served at /v1/agent/metrics (docs/contract/09).
// docs/reference/metrics.md lists all of them; it is generated from the tables in metrics.cpp.

#include "actors/telemetry/metrics_history.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// Distribution of a quantity since the start; extremes of the current interval. Thread-safe.
class distribution {
public:
  /// Finer above 2^16: durations in nanoseconds have a resolution of a factor of two from 65 us on.
  static constexpr std::size_t buckets = 24;

  void add(std::uint64_t value) {
    count_.fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
    const auto real = static_cast<double>(value);
    squares_.fetch_add(real * real, std::memory_order_relaxed);
    bucket_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
    for (auto seen = least_.load(std::memory_order_relaxed);
         value < seen && !least_.compare_exchange_weak(seen, value, std::memory_order_relaxed);) {
    }
    for (auto seen = most_.load(std::memory_order_relaxed);
         value > seen && !most_.compare_exchange_weak(seen, value, std::memory_order_relaxed);) {
    }
  }

  struct totals {
    std::uint64_t count = 0, sum = 0;
    double squares = 0;
    std::uint64_t least = 0, most = 0; ///< since the last take_totals
    std::array<std::uint64_t, buckets> bucket{};
  };
  totals look() const;
  /// Returns look(), and starts a new interval for minimum and maximum.
  totals take_totals();

  static std::size_t bucket_of(std::uint64_t value);
  /// Largest value of that bucket. @pre i + 1 < buckets
  static std::uint64_t bucket_end(std::size_t i);

private:
  std::atomic<std::uint64_t> count_{0}, sum_{0};
  std::atomic<double> squares_{0};
  std::atomic<std::uint64_t> least_{UINT64_MAX}, most_{0};
  std::array<std::atomic<std::uint64_t>, buckets> bucket_{};
};

/// Thread-safe and non-blocking (except for the first request of a route).
class metrics {
public:
  metrics() = default;
  metrics(const metrics&) = delete;
  metrics& operator=(const metrics&) = delete;

  // ---- log_writer, checkpointer
  void fsync(std::chrono::nanoseconds took) { fsync_.add(ns(took)); }
  void batch(std::size_t entries) { batch_.add(entries); }
  void checkpoint(std::chrono::nanoseconds took) { checkpoint_.add(ns(took)); }
  void checkpoint_unproven() { bump(checkpoints_unproven_); }

  // ---- raft_peer, peer_link
  void leader_change() { bump(leader_changes_); }
  void candidacy() { bump(candidacies_); }
  /// On the leader: the longest time since a follower last responded.
  void last_contact(std::chrono::nanoseconds longest) { last_contact_.add(ns(longest)); }
  void raft_state(std::uint64_t term, bool leader) {
    set(term_, term);
    set(leader_, leader ? 1 : 0);
  }
  void raft_indexes(std::uint64_t last, std::uint64_t commit) {
    set(last_index_, last);
    set(commit_index_, commit);
  }
  void commit(std::uint64_t index) { set(commit_index_, index); }
  void peers(std::size_t connected) { set(peers_, connected); }
  void clock_skew(std::chrono::milliseconds largest) {
    set(clock_skew_, static_cast<std::uint64_t>(largest.count() < 0 ? 0 : largest.count()));
  }
  /// Set on the leader; elsewhere autopilot_unknown().
  void autopilot(bool healthy, std::size_t failure_tolerance) {
    set(autopilot_healthy_, healthy ? 1 : 0);
    set(failure_tolerance_, failure_tolerance);
  }
  void autopilot_unknown() {
    set(autopilot_healthy_, unknown);
    set(failure_tolerance_, unknown);
  }
  /// On the leader: number of proposed commands; waiting time of the last committed one.
  void proposed(std::size_t commands) { proposed_.fetch_add(commands, std::memory_order_relaxed); }
  void commit_time(std::chrono::nanoseconds took) { commit_time_.add(ns(took)); }
  void disk_full(bool full) { set(disk_full_, full ? 1 : 0); }
  /// A frame that was dropped because the queue of its peer is full.
  void dropped_frame() { bump(dropped_frames_); }
  /// A request rejected because too many are waiting.
  void refused() { bump(refused_); }
  /// A forwarded write, rejected because more arrived than could be answered.
  void shed_forwarded_write() { bump(shed_forwarded_); }

  // ---- fsm, watch_registry
  void applied(std::uint64_t index) { set(applied_index_, index); }
  void keys(std::size_t n) { set(keys_, n); }
  void claims(std::size_t held, std::size_t waiting, std::uint64_t queued_bytes, std::size_t ends,
              std::uint64_t end_bytes) {
    set(claim_ends_, ends);
    set(claim_end_bytes_, end_bytes);
    set(claims_held_, held);
    set(claims_waiting_, waiting);
    set(claims_queued_bytes_, queued_bytes);
  }
  void outcomes(std::size_t kept, std::uint64_t bytes) {
    set(outcomes_kept_, kept);
    set(outcome_bytes_, bytes);
  }
  /// A write with an Idempotency-Key was answered from its record.
  void outcome_replayed() { bump(outcomes_replayed_); }
  /// The search for a deadlock was given up because of its size (docs/reference/claims.md, rule 32).
  void deadlock_search_cut() { bump(deadlock_searches_cut_); }
  void parked_queries(std::size_t n) { set(parked_, n); }
  void changes_kept(std::size_t bytes, std::uint64_t oldest_index) {
    set(changes_bytes_, bytes);
    set(oldest_change_, oldest_index);
  }
  /// On the leader: sessions with a running TTL; elsewhere none.
  void session_timers(std::size_t n) { set(session_timers_, n); }
  /// On the leader: time from the end of a session's TTL until its end was applied.
  void session_invalidated(std::chrono::nanoseconds took) { session_invalidated_.add(ns(took)); }

  // ---- http_gateway
  // Gauges of gateways show the sum: each call has the gateway's previous and current value.
  void connections(std::size_t before, std::size_t now) { add(connections_, before, now); }
  struct streams_counted {
    std::size_t streams = 0;
    std::size_t behind = 0; ///< streams that are behind, or are being sent data
    std::size_t queued = 0; ///< bytes that wait until their clients take more
  };
  void change_streams(const streams_counted& before, const streams_counted& now) {
    add(change_streams_, before.streams, now.streams);
    add(lagging_streams_, before.behind, now.behind);
    add(change_streams_queued_, before.queued, now.queued);
  }
  /// Log entries between a stream's position and the applied index, at the time of a read for the
  /// stream.
  void change_stream_lag(std::uint64_t entries) { change_stream_lag_.add(entries); }
  /// A stream was closed because its client took too little.
  void change_stream_cut() { bump(change_streams_cut_); }
  /// A stream starts over, because the client's state is invalid.
  void change_stream_reset() { bump(change_streams_reset_); }
  void connection_refused() { bump(refused_connections_); }
  void connection_shed() { bump(shed_connections_); }
  /// Requests rejected because more arrived than could be answered.
  void shed_write() { bump(shed_writes_); }
  void shed_read() { bump(shed_reads_); }
  /// A write was decided: of a key, a transaction, a session (begin, end, renewal), a registration.
  void kv_write(std::chrono::nanoseconds took) { kv_write_.add(ns(took)); }
  void transaction(std::chrono::nanoseconds took) { transaction_.add(ns(took)); }
  void session_write(std::chrono::nanoseconds took) { session_write_.add(ns(took)); }
  void session_renewal(std::chrono::nanoseconds took) { session_renewal_.add(ns(took)); }
  void registration(std::chrono::nanoseconds took) { registration_.add(ns(took)); }
  void deregistration(std::chrono::nanoseconds took) { deregistration_.add(ns(took)); }
  /// A large answer was rendered; another client got an answer that was rendered for others.
  void rendering() { bump(renderings_); }
  void shared_answer() { bump(shared_answers_); }
  void buffered_bytes(std::size_t before, std::size_t now) { add(buffered_bytes_, before, now); }
  /// @param route static text
  void request(std::string_view route, int status, std::chrono::nanoseconds took);

  // ---- the audit log
  void audit_lines(std::size_t n) { audit_lines_.fetch_add(n, std::memory_order_relaxed); }
  void audit_lost(std::size_t n) { audit_lost_.fetch_add(n, std::memory_order_relaxed); }
  /// Rejected, because the audit log could not be written.
  void audit_refused() { bump(audit_refused_); }
  void audit_broken(bool broken) { set(audit_broken_, broken ? 1 : 0); }

  // ---- node
  struct certificate {
    std::string use;            ///< peers or https
    std::string name;           ///< its subject
    std::int64_t days_left = 0; ///< negative: it has expired
  };
  void certificates(std::vector<certificate> all);

  /// Ends the interval that json() shows, if `interval` has passed. Call it regularly.
  /// @param now seconds since 1970
  void close_interval(std::int64_t now);
  static constexpr std::int64_t interval = 10; ///< seconds, as in Consul

  /// The last complete interval, in the form of docs/contract/09; before that, counts since start.
  /// @param old_names also shows renamed metrics by the names that they had before 0.3.0
  std::string json(std::string_view prefix, std::int64_t now, bool old_names = true) const;
  /// A row for each interval of the last hour (metrics_history).
  std::string history_json() const;
  /// Prometheus text format; counters and histograms since the start.
  std::string prometheus(std::string_view prefix, bool old_names = true) const;
  /// Generates docs/reference/metrics.md, with a description of each metric.
  static std::string reference();

private:
  static std::uint64_t ns(std::chrono::nanoseconds d) {
    return d.count() < 0 ? 0 : static_cast<std::uint64_t>(d.count());
  }
  static void bump(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }
  static void add(std::atomic<std::uint64_t>& gauge, std::size_t before, std::size_t now) {
    gauge.fetch_add(now - before, std::memory_order_relaxed); // wraps around when it is less
  }
  static void set(std::atomic<std::uint64_t>& gauge, std::uint64_t value) {
    gauge.store(value, std::memory_order_relaxed);
  }

  static constexpr std::uint64_t unknown = UINT64_MAX; ///< value of a gauge that is not shown

  // The lists of all metrics: json(), prometheus() and reference() use these.
  struct number_ref {
    const char* name;
    const std::atomic<std::uint64_t>* value;
    const char* means; ///< a line of docs/reference/metrics.md
  };
  struct distribution_ref {
    const char* name; ///< in json()
    const char* prometheus_name;
    distribution metrics::*values;
    double shown, prometheus_shown; ///< factors from the counted to the shown unit
    const char* means;
  };
  std::array<number_ref, 28> gauges() const;
  std::array<number_ref, 20> counters() const;
  static std::array<distribution_ref, 13> distributions();
  std::vector<certificate> certificates_now() const;

  struct served {
    std::string_view route;
    int status = 0;
    distribution took;
  };
  // Enough for all routes times statuses; what does not fit is counted in the last row.
  static constexpr std::size_t served_max = 160;

  std::atomic<std::uint64_t> leader_changes_{0}, dropped_frames_{0}, refused_{0}, refused_connections_{0},
      shed_connections_{0}, shed_writes_{0}, shed_reads_{0}, shed_forwarded_{0}, renderings_{0}, shared_answers_{0},
      checkpoints_unproven_{0}, audit_lines_{0}, audit_lost_{0}, audit_refused_{0}, proposed_{0}, candidacies_{0};
  std::atomic<std::uint64_t> term_{0}, leader_{0}, last_index_{0}, commit_index_{0}, applied_index_{0}, peers_{0},
      disk_full_{0}, keys_{0}, claims_held_{0}, claims_waiting_{0}, claims_queued_bytes_{0}, claim_ends_{0},
      claim_end_bytes_{0}, deadlock_searches_cut_{0}, outcomes_kept_{0}, outcome_bytes_{0}, outcomes_replayed_{0},
      parked_{0}, changes_bytes_{0}, oldest_change_{0}, change_streams_{0}, lagging_streams_{0},
      change_streams_queued_{0}, change_streams_cut_{0}, change_streams_reset_{0}, connections_{0}, clock_skew_{0},
      buffered_bytes_{0}, audit_broken_{0};
  std::atomic<std::uint64_t> autopilot_healthy_{unknown}, failure_tolerance_{unknown}, session_timers_{0};
  distribution fsync_, batch_, checkpoint_, commit_time_, last_contact_, kv_write_, transaction_, session_write_,
      session_renewal_, session_invalidated_, registration_, deregistration_, change_stream_lag_;
  mutable std::mutex certificates_mutex_;
  std::vector<certificate> certificates_;

  std::array<served, served_max> served_;
  std::atomic<std::size_t> served_count_{0};
  std::mutex new_route_;

  /// What json() subtracts and shows.
  struct sample {
    std::string name;
    std::string labels; ///< JSON object
    distribution::totals at_end, in_interval;
    double scale = 1; ///< to the unit shown
  };
  struct counted {
    std::string name;
    std::uint64_t at_end = 0, in_interval = 0;
  };
  struct closed_interval {
    std::int64_t began = 0, ended = 0; ///< seconds since 1970
    std::vector<sample> samples;
    std::vector<counted> counters;
  };
  closed_interval measure(std::int64_t began, std::int64_t now, const closed_interval& before) const;
  std::vector<sample> samples_now() const;
  metrics_history::row row_of(const closed_interval& c) const;

  mutable std::mutex interval_mutex_;
  closed_interval closed_;
  metrics_history history_;
  std::int64_t open_since_ = 0;
};

} // namespace belay::actors
