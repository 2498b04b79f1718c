#pragma once
// Reports the expiry of certificates to operators: in metrics, and in the log when renewal is due.

#include "actors/telemetry/metrics.hpp"
#include "actors/tls/certificate_ends.hpp"
#include "actors/tls/credential_store.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace belay::actors {

class certificate_reports {
public:
  /// How often to call look(), in addition to each reload.
  static constexpr std::chrono::hours interval{1};

  /// @param https null: no HTTPS
  certificate_reports(std::shared_ptr<tls::credential_store> peers, std::shared_ptr<tls::https_credential_store> https)
      : peers_(std::move(peers)), https_(std::move(https)) {}

  /// Logs what is new. @returns what the metrics show
  std::vector<metrics::certificate> look(std::int64_t now_seconds);

private:
  void add(std::vector<metrics::certificate>& all, const char* use, ssl_ctx_st* context, tls::certificate_watch& watch,
           std::int64_t now_seconds);

  std::shared_ptr<tls::credential_store> peers_;
  std::shared_ptr<tls::https_credential_store> https_;
  tls::certificate_watch peers_watch_, https_watch_;
};

} // namespace belay::actors
