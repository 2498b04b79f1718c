#include "actors/telemetry/metrics_history.hpp"

#include <boost/json.hpp>

namespace belay::actors {

void metrics_history::add(const row& r) {
  rows_.push_back(r);
  if (rows_.size() > rows_max)
    rows_.pop_front();
}

std::string metrics_history::json(std::int64_t interval) const {
  boost::json::array all;
  for (const auto& r : rows_)
    all.push_back({{"Time", r.began},
                   {"Requests", r.requests},
                   {"RequestMs", r.request_ms},
                   {"RequestMaxMs", r.request_max_ms},
                   {"Entries", r.entries},
                   {"CommitMs", r.commit_ms},
                   {"CommitMaxMs", r.commit_max_ms},
                   {"SyncMs", r.sync_ms},
                   {"SyncMaxMs", r.sync_max_ms},
                   {"Term", r.term},
                   {"Leader", r.leader},
                   {"AppliedIndex", r.applied},
                   {"Keys", r.keys},
                   {"ClaimsHeld", r.claims_held},
                   {"ClaimsWaiting", r.claims_waiting},
                   {"ParkedQueries", r.parked},
                   {"Streams", r.streams},
                   {"Connections", r.connections}});
  return boost::json::serialize(boost::json::object{{"IntervalSeconds", interval}, {"Samples", std::move(all)}});
}

} // namespace belay::actors
