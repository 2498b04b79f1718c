#include "actors/node/certificate_reports.hpp"

#include "actors/telemetry/log.hpp"

#include <utility>

namespace belay::actors {

void certificate_reports::add(std::vector<metrics::certificate>& all, const char* use, ssl_ctx_st* context,
                              tls::certificate_watch& watch, std::int64_t now_seconds) {
  auto ends = tls::certificate_ends(context);
  for (const auto& n : watch.look(ends, now_seconds)) {
    const bool over = n.how == tls::certificate_watch::urgency::over;
    const auto level = n.how == tls::certificate_watch::urgency::soon ? log::level::warn : log::level::error;
    log::write(level, "node", over ? "certificate expired" : "certificate expires soon",
               {{"certificate", n.certificate.name},
                {"use", use},
                {"days_left", n.days},
                {"advice", n.certificate.of_auth_context
                               ? "create a new CA and sign new certificates: docs/operate/security.md"
                               : "replace the files and reload: docs/operate/security.md"}});
  }
  for (auto& e : ends)
    all.push_back({use, std::move(e.name), tls::days_left(e, now_seconds)});
}

std::vector<metrics::certificate> certificate_reports::look(std::int64_t now_seconds) {
  std::vector<metrics::certificate> all;
  add(all, "peers", peers_->now()->accepting(), peers_watch_, now_seconds);
  if (https_ != nullptr)
    add(all, "https", https_->now()->context(), https_watch_, now_seconds);
  return all;
}

} // namespace belay::actors
