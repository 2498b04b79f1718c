#pragma once
// Rejects requests when more arrive than can be answered: writes first, then reads, never those
// that keep or end something (protocol/http/request_class.hpp). Counts and logs them.

#include "actors/gateway/requests/exchange.hpp"
#include "actors/telemetry/metrics.hpp"
#include "protocol/forward/arrival_shedder.hpp"
#include "protocol/forward/load_shedder.hpp"

namespace belay::actors {

class request_admission {
public:
  /// @param m must outlive this object
  request_admission(forward::shedding_rules rules, metrics& m) : shedder_(rules), arrivals_(rules), metrics_(m) {}

  /// Call it before a request is sent on.
  /// @param load of all pending requests
  /// @returns false: it was rejected and is answered
  bool admit(exchange& e, std::size_t load, monotonic_time now);
  /// A write was decided.
  void decided(const exchange& e, const write_result& r, monotonic_time now);
  /// A read was answered.
  void answered(const exchange& e, monotonic_time now);
  /// A probe starts to wait on this thread like requests; it is served.
  /// @param load as in admit()
  void begin_probe(monotonic_time since) { arrivals_.begin_probe(since.time_since_epoch()); }
  void probe_served(std::size_t load, monotonic_time now) { arrivals_.probe_served(now.time_since_epoch(), load); }
  /// Call it a few times a second.
  void tick(std::size_t load, monotonic_time now);

private:
  bool refusing() const { return shedder_.limit() || arrivals_.refusing(); }
  void log_refusals(std::size_t load, monotonic_time now);

  forward::load_shedder shedder_;     ///< by the waiting times of requests that were read
  forward::arrival_shedder arrivals_; ///< by the waiting times of unread ones
  metrics& metrics_;
  std::uint64_t writes_unlogged_ = 0, reads_unlogged_ = 0; ///< rejected and not logged yet
  bool logged_ = false;                                    ///< the log has the start of an overload, and not its end
  monotonic_time last_refused_{}, logged_at_{};
};

} // namespace belay::actors
