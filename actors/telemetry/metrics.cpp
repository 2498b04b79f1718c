#include "actors/telemetry/metrics.hpp"

#include "actors/telemetry/process_facts.hpp"
#include "protocol/golang/json_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace belay::actors {

namespace {

constexpr double ns_per_ms = 1e6;
constexpr double seconds_per_ns = 1e-9;
constexpr const char* certificates_name = "tls.certificate_days_left";
constexpr const char* certificates_mean =
    "until a certificate of this server, or of an authority that it trusts, is over; negative: it is. One for each, "
    "with the labels "
    "`certificate` and `use` (`peers` or `https`). From 30 days on the log warns, too";
constexpr const char* requests_name = "http.request";
constexpr const char* requests_prometheus_name = "http.request_seconds";

void append(std::string& out, double v) {
  char text[40];
  if (v == std::floor(v) && std::abs(v) < 1e15)
    std::snprintf(text, sizeof text, "%.0f", v);
  else
    std::snprintf(text, sizeof text, "%.6g", v);
  out += text;
}

void append(std::string& out, std::uint64_t v) {
  out += std::to_string(v);
}

/// `raft.commit_time` -> `belay_raft_commit_time`
std::string prometheus_name(std::string_view prefix, std::string_view name) {
  std::string out(prefix);
  if (!out.empty())
    out += '_';
  out += name;
  for (auto& c : out)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
      c = '_';
  return out;
}

std::string json_name(std::string_view prefix, std::string_view name) {
  std::string out(prefix);
  if (!out.empty())
    out += '.';
  for (char c : name)
    out += c == '"' || c == '\\' ? '_' : c;
  return out;
}

/// A label value for Prometheus: quotes, backslashes and line ends would end it.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 ? '_' : c;
  return out;
}

void append_header(std::string& out, const std::string& name, const char* type) {
  out += "# TYPE " + name + " " + type + "\n";
}

/// @param to_unit factor from the value counted to the unit shown (seconds for Prometheus)
void append_histogram(std::string& out, const std::string& name, const std::string& labels,
                      const distribution::totals& t, double to_unit) {
  const std::string more = labels.empty() ? "" : labels + ",";
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 1 < distribution::buckets; ++i) {
    sum += t.bucket[i];
    out += name + "_bucket{" + more + "le=\"";
    append(out, static_cast<double>(distribution::bucket_end(i)) * to_unit);
    out += "\"} ";
    append(out, sum);
    out += '\n';
  }
  sum += t.bucket[distribution::buckets - 1];
  out += name + "_bucket{" + more + "le=\"+Inf\"} ";
  append(out, sum);
  const std::string set = labels.empty() ? "" : "{" + labels + "}";
  out += "\n" + name + "_sum" + set + " ";
  append(out, static_cast<double>(t.sum) * to_unit);
  out += "\n" + name + "_count" + set + " ";
  append(out, sum);
  out += '\n';
}

} // namespace

// ---- distribution

// Counts and durations share one scale: 1, then factors of 4 up to 2^16 (65 us in ns), of 2 up to
// 2^26 (67 ms), of 4 up to 2^34 (17 s). A write takes 100 us to 10 ms, where the scale is fine.
std::size_t distribution::bucket_of(std::uint64_t value) {
  for (std::size_t i = 0; i + 1 < buckets; ++i)
    if (value <= bucket_end(i))
      return i;
  return buckets - 1;
}

std::uint64_t distribution::bucket_end(std::size_t i) {
  constexpr std::array<unsigned char, buckets - 1> bits{0,  2,  4,  6,  8,  10, 12, 14, 16, 17, 18, 19,
                                                        20, 21, 22, 23, 24, 25, 26, 28, 30, 32, 34};
  return std::uint64_t{1} << bits[i];
}

distribution::totals distribution::look() const {
  totals t;
  t.count = count_.load(std::memory_order_relaxed);
  t.sum = sum_.load(std::memory_order_relaxed);
  t.squares = squares_.load(std::memory_order_relaxed);
  t.least = least_.load(std::memory_order_relaxed);
  t.most = most_.load(std::memory_order_relaxed);
  if (t.least == UINT64_MAX)
    t.least = 0;
  for (std::size_t i = 0; i < buckets; ++i)
    t.bucket[i] = bucket_[i].load(std::memory_order_relaxed);
  return t;
}

distribution::totals distribution::take_totals() {
  auto t = look();
  least_.store(UINT64_MAX, std::memory_order_relaxed);
  most_.store(0, std::memory_order_relaxed);
  return t;
}

// ---- metrics

void metrics::request(std::string_view route, int status, std::chrono::nanoseconds took) {
  const auto find = [&](std::size_t n) -> served* {
    for (std::size_t i = 0; i < n; ++i)
      if (served_[i].status == status && served_[i].route == route)
        return &served_[i];
    return nullptr;
  };
  auto* row = find(served_count_.load(std::memory_order_acquire));
  if (row == nullptr) {
    std::lock_guard lock(new_route_);
    const auto n = served_count_.load(std::memory_order_relaxed);
    row = find(n);
    if (row == nullptr && n < served_max) {
      row = &served_[n];
      row->route = n + 1 == served_max ? "other" : route;
      row->status = n + 1 == served_max ? 0 : status;
      served_count_.store(n + 1, std::memory_order_release);
    } else if (row == nullptr) {
      row = &served_[served_max - 1];
    }
  }
  row->took.add(ns(took));
}

void metrics::certificates(std::vector<certificate> all) {
  std::lock_guard lock(certificates_mutex_);
  certificates_ = std::move(all);
}

std::vector<metrics::certificate> metrics::certificates_now() const {
  std::lock_guard lock(certificates_mutex_);
  return certificates_;
}

std::array<metrics::number_ref, 28> metrics::gauges() const {
  return {
      {{"raft.term", &term_, "the term this node is in"},
       {"raft.is_leader", &leader_, "1 on the leader, 0 elsewhere"},
       {"raft.last_index", &last_index_, "index of the last entry of the log"},
       {"raft.commit_index", &commit_index_, "index up to which entries are known to be committed"},
       {"raft.applied_index", &applied_index_,
        "index up to which entries are in the tables; alarm if it stands still while the leader's does not"},
       {"raft.connected_peers", &peers_, "servers that are connected, of the others"},
       {"raft.clock_skew_ms", &clock_skew_,
        "how far the wall clock of a connected server is from this one's, in milliseconds: the largest of all"},
       {"autopilot.healthy", &autopilot_healthy_,
        "1 if all servers are healthy, as `/v1/operator/autopilot/health` says; on the leader only. Alarm (Consul's "
        "name)"},
       {"autopilot.failure_tolerance", &failure_tolerance_,
        "how many more voters may fail; on the leader only (Consul's name)"},
       {"session_ttl.active", &session_timers_, "sessions whose TTL runs, on the leader (Consul's name)"},
       {"raft.disk_full", &disk_full_,
        "1 while the log has no room on the disk: this node acknowledges nothing; alarm"},
       {"state.keys", &keys_, "keys"},
       {"claims.held", &claims_held_, "claims that are held; of a semaphore each holder is one"},
       {"claims.waiting", &claims_waiting_, "claims, and acquires of keys, that wait in a queue"},
       {"claims.queued_bytes", &claims_queued_bytes_, "values of those that wait; 256 MiB is the most"},
       {"claims.ends", &claim_ends_, "ended claims whose IDs are refused, for ten minutes"},
       {"claims.end_bytes", &claim_end_bytes_,
        "about what they take, with those to come of claims that are held or wait; from 512 MiB on the token or "
        "address that has most is answered 429, at 1 GiB everyone"},
       {"outcomes.kept", &outcomes_kept_,
        "outcomes of writes with an Idempotency-Key that are kept; 1,000,000 is the most"},
       {"outcomes.bytes", &outcome_bytes_, "about what they take; 256 MiB is the most"},
       {"watch.parked_queries", &parked_, "blocking queries that wait"},
       {"changes.bytes", &changes_bytes_, "of changes of keys that are kept for those who follow them"},
       {"changes.floor", &changes_floor_,
        "index up to which they are gone; how far it is behind raft.applied_index says how long who is away may stay "
        "away"},
       {"changes.streams", &change_streams_, "clients that follow changes of keys as a stream"},
       {"changes.streams_behind", &change_streams_behind_,
        "of them, those that are still being sent keys as they are, or changes of before"},
       {"changes.queued_bytes", &change_streams_queued_,
        "of changes that wait until clients of streams take more; what several wait for counts for each. 1 MiB is the "
        "most for one"},
       {"http.connections", &connections_, "open connections of clients"},
       {"http.held_bytes", &held_bytes_,
        "of requests without an answer and answers that were not taken; limits.http_max_bytes_in_flight"},
       {"audit.broken", &audit_broken_, "1 while the audit log cannot be written; alarm"}}};
}

std::array<metrics::number_ref, 20> metrics::counters() const {
  return {
      {{"raft.state.leader", &leader_changes_, "this node became leader (Consul's name for it)"},
       {"raft.state.candidate", &candidacies_, "this node began an election (Consul's name)"},
       {"raft.apply", &proposed_, "commands that were proposed to the log, on the leader (Consul's name)"},
       {"raft.dropped_frames", &dropped_frames_, "frames thrown away because a peer takes no more"},
       {"raft.refused_writes", &refused_, "requests turned away because too much is waiting already"},
       {"http.refused_connections", &refused_connections_,
        "connections turned away: too many of one address, or of all"},
       {"http.shed_connections", &shed_connections_,
        "connections ended, or requests refused, because all clients together held too much"},
       {"http.shed_writes", &shed_writes_,
        "writes refused because more came than could be answered; limits.overload_delay"},
       {"http.shed_reads", &shed_reads_, "reads refused for the same reason: there were too many even without writes"},
       {"http.renderings", &renderings_, "answers of more than 64 KiB that were rendered"},
       {"http.shared_answers", &shared_answers_, "answers of more than 64 KiB that others had got rendered, too"},
       {"raft.shed_writes", &shed_forwarded_,
        "writes of other servers' clients refused by this one as the leader, for the same reason"},
       {"claims.deadlock_searches_cut", &deadlock_searches_cut_,
        "searches for a deadlock that were given up, because more than 10,000 sessions and resources had to be looked "
        "at; the claim waits"},
       {"changes.streams_cut", &change_streams_cut_,
        "streams of changes that were ended because their clients are slow"},
       {"changes.streams_reset", &change_streams_reset_,
        "streams that were sent all keys anew: what came meanwhile is gone, tables were restored, or permissions "
        "changed"},
       {"outcomes.replayed", &outcomes_replayed_,
        "writes with an Idempotency-Key that were answered from what is kept of them"},
       {"checkpoint.unproven", &checkpoints_unproven_,
        "checkpoints that read back different from what was written, and were not used"},
       {"audit.lines", &audit_lines_, "lines in the audit log"},
       {"audit.lost_lines", &audit_lost_,
        "lines that are not in it, because it could not be written; delivery_guarantee `best-effort`"},
       {"audit.refused_requests", &audit_refused_,
        "requests that were not done, or not answered, for that reason; delivery_guarantee `enforced`"}}};
}

std::array<metrics::distribution_ref, 13> metrics::distributions() {
  return {
      {{"raft.fsync", "raft.fsync_seconds", &metrics::fsync_, 1 / ns_per_ms, seconds_per_ns,
        "how long making a batch of entries durable took"},
       {"raft.batch_entries", "raft.batch_entries", &metrics::batch_, 1, 1, "entries that one sync made durable"},
       {"checkpoint.write", "checkpoint.write_seconds", &metrics::checkpoint_, 1 / ns_per_ms, seconds_per_ns,
        "how long writing a checkpoint took"},
       {"raft.commitTime", "raft.commitTime", &metrics::commit_time_, 1 / ns_per_ms, seconds_per_ns,
        "how long a command took from its arrival at the leader until it was committed (Consul's name)"},
       {"kvs.apply", "kvs.apply", &metrics::kv_write_, 1 / ns_per_ms, seconds_per_ns,
        "how long a write of a key took that a client asked this server for, until it was decided (Consul's name)"},
       {"txn.apply", "txn.apply", &metrics::transaction_, 1 / ns_per_ms, seconds_per_ns,
        "the same of a transaction (Consul's name)"},
       {"session.apply", "session.apply", &metrics::session_write_, 1 / ns_per_ms, seconds_per_ns,
        "the same of a session that a client creates or destroys (Consul's name)"},
       {"session.renew", "session.renew", &metrics::session_renewal_, 1 / ns_per_ms, seconds_per_ns,
        "the same of a session's renewal, which is no write to the log (Consul's name)"},
       {"catalog.register", "catalog.register", &metrics::registration_, 1 / ns_per_ms, seconds_per_ns,
        "the same of what a client registers in the catalog (Consul's name)"},
       {"catalog.deregister", "catalog.deregister", &metrics::deregistration_, 1 / ns_per_ms, seconds_per_ns,
        "the same of what a client deregisters (Consul's name)"},
       {"session_ttl.invalidate", "session_ttl.invalidate", &metrics::session_invalidated_, 1 / ns_per_ms,
        seconds_per_ns,
        "how long it took from the moment at which a session was at the end of its TTL until it was gone, on the "
        "leader (Consul's name)"},
       {"raft.leader.lastContact", "raft.leader.lastContact", &metrics::last_contact_, 1 / ns_per_ms, seconds_per_ns,
        "how long the voter that was heard least lately had been silent, looked at every 2 s by the leader; none "
        "if it votes alone (Consul's name)"},
       {"changes.lag", "changes.lag_entries", &metrics::change_stream_lag_, 1, 1,
        "entries of the log between the place of a stream of changes that comes back, or is behind, and what this "
        "server has applied, each time that it is read for"}}};
}

std::vector<metrics::sample> metrics::samples_now() const {
  std::vector<sample> out;
  for (const auto& d : distributions())
    out.push_back({d.name, "{}", (this->*d.values).look(), {}, d.shown});
  const auto n = served_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i) {
    const auto& s = served_[i];
    out.push_back({requests_name,
                   "{\"code\":\"" + std::to_string(s.status) + "\",\"route\":\"" + std::string(s.route) + "\"}",
                   s.took.look(),
                   {},
                   1 / ns_per_ms});
  }
  return out;
}

metrics::closed_interval metrics::measure(std::int64_t began, std::int64_t now, const closed_interval& before) const {
  closed_interval c;
  c.began = began;
  c.ended = now;
  c.samples = samples_now();
  // Rows are only ever appended, so equal indexes are the same series.
  for (std::size_t i = 0; i < c.samples.size(); ++i) {
    auto& s = c.samples[i];
    s.in_interval = s.at_end;
    if (i < before.samples.size()) {
      const auto& b = before.samples[i].at_end;
      s.in_interval.count -= b.count;
      s.in_interval.sum -= b.sum;
      s.in_interval.squares -= b.squares;
    }
  }
  const auto list = counters();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto v = list[i].value->load(std::memory_order_relaxed);
    c.counters.push_back({list[i].name, v, i < before.counters.size() ? v - before.counters[i].at_end : v});
  }
  return c;
}

void metrics::close_interval(std::int64_t now) {
  std::lock_guard lock(interval_mutex_);
  if (open_since_ == 0)
    open_since_ = now;
  if (now - open_since_ < interval)
    return;
  closed_ = measure(open_since_, now, closed_);
  history_.add(row_of(closed_));
  open_since_ = now;
  for (const auto& d : distributions())
    (this->*d.values).take_totals();
  const auto n = served_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i)
    served_[i].took.take_totals();
}

metrics_history::row metrics::row_of(const closed_interval& c) const {
  const double seconds = static_cast<double>(std::max<std::int64_t>(1, c.ended - c.began));
  const auto now = [](const std::atomic<std::uint64_t>& gauge) { return gauge.load(std::memory_order_relaxed); };
  metrics_history::row r;
  r.began = c.began;
  double request_time = 0, timed = 0;
  for (const auto& s : c.samples) {
    const auto& t = s.in_interval;
    if (t.count == 0)
      continue;
    const double mean = static_cast<double>(t.sum) * s.scale / static_cast<double>(t.count);
    const double most = static_cast<double>(t.most) * s.scale;
    if (s.name == "raft.commitTime") {
      r.commit_ms = mean;
      r.commit_max_ms = most;
    } else if (s.name == "raft.fsync") {
      r.sync_ms = mean;
      r.sync_max_ms = most;
    } else if (s.name == requests_name) {
      r.requests += static_cast<double>(t.count) / seconds;
      if (s.labels.find("\"blocking\"") != std::string::npos)
        continue;
      timed += static_cast<double>(t.count);
      request_time += static_cast<double>(t.sum) * s.scale;
      r.request_max_ms = std::max(r.request_max_ms, most);
    }
  }
  r.request_ms = timed > 0 ? request_time / timed : 0;
  for (const auto& counter : c.counters)
    if (counter.name == "raft.apply")
      r.entries = static_cast<double>(counter.in_interval) / seconds;
  r.term = now(term_);
  r.leader = now(leader_) == 1;
  r.applied = now(applied_index_);
  r.keys = now(keys_);
  r.claims_held = now(claims_held_);
  r.claims_waiting = now(claims_waiting_);
  r.parked = now(parked_);
  r.streams = now(change_streams_);
  r.connections = now(connections_);
  return r;
}

std::string metrics::history_json() const {
  std::lock_guard lock(interval_mutex_);
  return history_.json(interval);
}

std::string metrics::json(std::string_view prefix, std::int64_t now) const {
  closed_interval c;
  {
    std::lock_guard lock(interval_mutex_);
    c = closed_.samples.empty() ? measure(open_since_ == 0 ? now : open_since_, now, {}) : closed_;
  }
  const std::time_t began = c.began - c.began % interval;
  std::tm utc{};
  gmtime_r(&began, &utc);
  char stamp[40];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S +0000 UTC", &utc);
  const double seconds = static_cast<double>(std::max<std::int64_t>(1, c.ended - c.began));

  std::string out = "{\"Timestamp\":\"";
  out += stamp;
  out += "\",\"Gauges\":[";
  bool first = true;
  const auto gauge = [&](const char* name, const auto& value, const std::string& labels) {
    out += first ? "{\"Name\":\"" : ",{\"Name\":\"";
    first = false;
    out += json_name(prefix, name) + "\",\"Value\":";
    append(out, value);
    out += ",\"Labels\":{" + labels + "}}";
  };
  for (const auto& g : gauges())
    if (const auto value = g.value->load(std::memory_order_relaxed); value != unknown)
      gauge(g.name, value, "");
  for (const auto& c : certificates_now()) {
    std::string labels;
    golang::append_json_string(labels += "\"certificate\":", c.name);
    golang::append_json_string(labels += ",\"use\":", c.use);
    gauge(certificates_name, static_cast<double>(c.days_left), labels);
  }
  out += "],\"Points\":[],\"Counters\":[";
  first = true;
  const auto series = [&](const std::string& name, const std::string& labels, std::uint64_t count, double sum,
                          double squares, double least, double most) {
    const double n = static_cast<double>(count);
    const double mean = sum / n;
    const double variance = count < 2 ? 0 : std::max(0.0, (squares - sum * mean) / (n - 1));
    out += first ? "{\"Name\":\"" : ",{\"Name\":\"";
    first = false;
    out += json_name(prefix, name) + "\",\"Count\":";
    append(out, count);
    const std::pair<const char*, double> members[] = {{"Rate", sum / seconds}, {"Sum", sum},
                                                      {"Min", least},          {"Max", most},
                                                      {"Mean", mean},          {"Stddev", std::sqrt(variance)}};
    for (const auto& [key, value] : members) {
      out += std::string(",\"") + key + "\":";
      append(out, value);
    }
    out += ",\"Labels\":" + labels + "}";
  };
  for (const auto& counter : c.counters)
    if (counter.in_interval > 0)
      series(counter.name, "{}", counter.in_interval, static_cast<double>(counter.in_interval),
             static_cast<double>(counter.in_interval), 1, 1);
  out += "],\"Samples\":[";
  first = true;
  for (const auto& s : c.samples)
    if (s.in_interval.count > 0)
      series(s.name, s.labels, s.in_interval.count, static_cast<double>(s.in_interval.sum) * s.scale,
             s.in_interval.squares * s.scale * s.scale, static_cast<double>(s.in_interval.least) * s.scale,
             static_cast<double>(s.in_interval.most) * s.scale);
  out += "]}";
  return out;
}

std::string metrics::prometheus(std::string_view prefix) const {
  std::string out;
  for (const auto& g : gauges()) {
    const auto value = g.value->load(std::memory_order_relaxed);
    if (value == unknown)
      continue;
    const auto name = prometheus_name(prefix, g.name);
    append_header(out, name, "gauge");
    out += name + " ";
    append(out, value);
    out += '\n';
  }
  const auto certificates = certificates_now();
  const auto days_name = prometheus_name(prefix, certificates_name);
  if (!certificates.empty())
    append_header(out, days_name, "gauge");
  for (const auto& c : certificates) {
    out += days_name + "{certificate=\"" + label_value(c.name) + "\",use=\"" + label_value(c.use) + "\"} ";
    append(out, static_cast<double>(c.days_left));
    out += '\n';
  }
  for (const auto& c : counters()) {
    const auto name = prometheus_name(prefix, c.name);
    append_header(out, name, "counter");
    out += name + " ";
    append(out, c.value->load(std::memory_order_relaxed));
    out += '\n';
  }
  for (const auto& d : distributions()) {
    const auto name = prometheus_name(prefix, d.prometheus_name);
    append_header(out, name, "histogram");
    append_histogram(out, name, "", (this->*d.values).look(), d.prometheus_shown);
  }
  const auto name = prometheus_name(prefix, requests_prometheus_name);
  const auto n = served_count_.load(std::memory_order_acquire);
  if (n > 0)
    append_header(out, name, "histogram");
  for (std::size_t i = 0; i < n; ++i)
    append_histogram(
        out, name, "code=\"" + std::to_string(served_[i].status) + "\",route=\"" + std::string(served_[i].route) + "\"",
        served_[i].took.look(), seconds_per_ns);
  return out;
}

std::string metrics::reference() {
  std::string out =
      R"(# Metrics

Made from the tables in `actors/telemetry/metrics.cpp`; change those, then
`BELAY_REWRITE=1 build/dev/test_node 'docs/reference/metrics.md*'`.

`GET /v1/agent/metrics` answers with the numbers of the server that is asked, as JSON; with `?format=prometheus` as text for
Prometheus, if `telemetry.prometheus_retention_time` is above 0. JSON shows counters and samples of the last complete interval of )" +
      std::to_string(interval) +
      R"( s (before there is one: since the start), and leaves out those in which nothing happened; Prometheus counts from the start
of the process. Names are shown without `telemetry.metrics_prefix`: with the default one, `raft.term` is `consul.raft.term` in JSON and
`consul_raft_term` for Prometheus.

## Gauges

| name | |
|---|---|
)";
  const auto row = [&](std::string_view name, std::string_view means) {
    out.append("| `").append(name).append("` | ").append(means).append(" |\n");
  };
  const metrics none;
  for (const auto& g : none.gauges())
    row(g.name, g.means);
  row(certificates_name, certificates_mean);
  out += "\n## Counters\n\n| name | counts |\n|---|---|\n";
  for (const auto& c : none.counters())
    row(c.name, c.means);
  out += R"(
## Samples

In JSON with count, rate, sum, least, most, mean and standard deviation; for Prometheus a histogram.

| name in JSON | unit | name for Prometheus | unit | |
|---|---|---|---|---|
)";
  const auto sample = [&](std::string_view name, std::string_view prometheus_name, bool time, std::string_view means) {
    out.append("| `").append(name).append(time ? "` | ms | `" : "` | | `").append(prometheus_name);
    out.append(time ? "` | s | " : "` | | ").append(means).append(" |\n");
  };
  for (const auto& d : distributions())
    sample(d.name, d.prometheus_name, d.prometheus_shown != 1, d.means);
  sample(requests_name, requests_prometheus_name, true,
         "how long a request took, until its answer was handed to the connection. Labels: `code`, the status; `route`, "
         "the path "
         "without what varies in it, `blocking` for a query that waited, `other` for what is more than " +
             std::to_string(served_max) + " pairs of both");
  out += R"(
## The process

For Prometheus only, under the names of its own clients: without `telemetry.metrics_prefix`. Consul's `runtime.*` tell of Go's memory and goroutines;
what they are watched for is `process_resident_memory_bytes` and `process_cpu_seconds_total` here.

| name | |
|---|---|
)" + process_reference();
  return out;
}

} // namespace belay::actors
