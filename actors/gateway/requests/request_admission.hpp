#pragma once
// Refuses requests of clients while more come than can be answered: writes first, then reads, never what keeps or ends something
// (protocol/http/request_class.hpp). Counts them, and tells the log.

#include "actors/gateway/requests/exchange.hpp"
#include "actors/telemetry/metrics.hpp"
#include "protocol/forward/arrival_shedder.hpp"
#include "protocol/forward/load_shedder.hpp"

namespace belay::actors {

class request_admission {
public:
  /// @param m outlives it
  request_admission(forward::shedding_rules rules, metrics& m) : shedder_(rules), arrivals_(rules), metrics_(m) {}

  /// Before a request is passed on. @param load of the requests that other actors work on
  /// @returns false: it was refused, its answer is there
  bool admit(exchange& e, std::size_t load, monotonic_time now);
  /// A write was decided.
  void decided(const exchange& e, const write_result& r, monotonic_time now);
  /// A read was answered.
  void answered(const exchange& e, monotonic_time now);
  /// Something begins to wait for its turn on this thread as requests do, and has it. @param load as with admit()
  void begin_probe(monotonic_time since) { arrivals_.begin_probe(since.time_since_epoch()); }
  void probe_served(std::size_t load, monotonic_time now) { arrivals_.probe_served(now.time_since_epoch(), load); }
  /// A few times a second.
  void tick(std::size_t load, monotonic_time now);

private:
  bool refusing() const { return shedder_.limit() || arrivals_.refusing(); }
  void tell_log(std::size_t load, monotonic_time now);

  forward::load_shedder shedder_;     ///< by what the requests wait for that were read
  forward::arrival_shedder arrivals_; ///< and by what those wait that were not
  metrics& metrics_;
  std::uint64_t writes_untold_ = 0, reads_untold_ = 0; ///< refused, and the log does not know it
  bool told_ = false;                                  ///< the log knows of an overload, and not of its end
  monotonic_time last_refused_{}, told_at_{};
};

} // namespace belay::actors
