#include "actors/telemetry/metrics.hpp"

#include "actors/telemetry/process_facts.hpp"
#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/json_output.hpp"

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
    "days until a certificate expires, of this server or of a CA that it trusts; negative after that. One series for "
    "each certificate, with the labels `certificate` and `use` (`peers` or `https`). The log warns from 30 days on";
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

/// The names by which a metric is shown: the present one and, if wanted, the one before 0.3.0.
std::vector<std::string_view> shown_names(std::string_view name, bool old_names) {
  std::vector<std::string_view> out{name};
  if (const auto* row = old_names ? find_new_name(name_kind::metric, name) : nullptr)
    out.push_back(row->old_name);
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
      {{"raft.term", &term_, "current Raft term of this server"},
       {"raft.is_leader", &leader_, "1 on the leader, 0 on other servers"},
       {"raft.last_index", &last_index_, "index of the last log entry"},
       {"raft.commit_index", &commit_index_, "highest log index that this server knows to be committed"},
       {"raft.applied_index", &applied_index_,
        "highest log index that is applied to the tables. Alarm if it stops while the leader's grows"},
       {"raft.connected_peers", &peers_, "number of other servers that are connected"},
       {"raft.clock_skew_ms", &clock_skew_,
        "largest difference between the wall clocks of this server and a connected one, in milliseconds"},
       {"autopilot.healthy", &autopilot_healthy_,
        "1 if all servers are healthy, as in `/v1/operator/autopilot/health`, else 0; only on the leader. Alarm at 0 "
        "(Consul's name)"},
       {"autopilot.failure_tolerance", &failure_tolerance_,
        "number of voters that can still fail without loss of the majority; only on the leader (Consul's name)"},
       {"session_ttl.active", &session_timers_, "number of sessions with a TTL; only on the leader (Consul's name)"},
       {"raft.disk_full", &disk_full_,
        "1 while the disk has no space for the log, else 0: this server acknowledges no writes. Alarm at 1"},
       {"state.keys", &keys_, "number of keys"},
       {"claims.held", &claims_held_, "number of claims that are held; each holder of a semaphore counts"},
       {"claims.waiting", &claims_waiting_, "number of claims, and of acquires of keys, that wait in a queue"},
       {"claims.queued_bytes", &claims_queued_bytes_,
        "bytes of the values of waiting claims and acquires; at most 256 MiB"},
       {"claims.ends", &claim_ends_,
        "number of ended claims that the server remembers: for ten minutes it rejects their IDs"},
       {"claims.end_bytes", &claim_end_bytes_,
        "estimated bytes of these, and of what claims that are held or wait will need. From 512 MiB on, the token or "
        "address with the largest share gets status 429; at 1 GiB, every client does"},
       {"outcomes.kept", &outcomes_kept_,
        "number of kept outcomes of writes with an Idempotency-Key; at most 1,000,000"},
       {"outcomes.bytes", &outcome_bytes_, "estimated bytes of these outcomes; at most 256 MiB"},
       {"watch.parked_queries", &parked_, "number of waiting blocking queries"},
       {"changes.bytes", &changes_bytes_, "bytes of key changes that are kept for the change feed"},
       {"changes.oldest_index", &oldest_change_,
        "oldest retained index of the change feed: changes up to it are gone. A client that reconnects gets its "
        "changes if its cursor is newer; the distance to `raft.applied_index` shows how long a client can be away"},
       {"changes.streams", &change_streams_, "number of open streams of the change feed"},
       {"changes.lagging_streams", &lagging_streams_,
        "number of these streams that still receive existing keys or earlier changes"},
       {"changes.queued_bytes", &change_streams_queued_,
        "bytes of changes that wait for slow streams, counted once for each stream; at most 1 MiB for a stream"},
       {"http.connections", &connections_, "number of open client connections"},
       {"http.buffered_bytes", &buffered_bytes_,
        "bytes of requests without a response and of responses that clients have not read; the limit is "
        "`limits.http_max_bytes_in_flight`"},
       {"audit.broken", &audit_broken_, "1 while the audit log cannot be written, else 0. Alarm at 1"}}};
}

std::array<metrics::number_ref, 20> metrics::counters() const {
  return {{{"raft.state.leader", &leader_changes_, "times that this server became leader (Consul's name)"},
           {"raft.state.candidate", &candidacies_, "elections that this server started (Consul's name)"},
           {"raft.apply", &proposed_, "commands that this server proposed as the leader (Consul's name)"},
           {"raft.dropped_frames", &dropped_frames_, "frames that were dropped because the queue to a peer was full"},
           {"raft.refused_writes", &refused_, "requests that were rejected because too many were pending"},
           {"http.refused_connections", &refused_connections_,
            "connections that were rejected because their address, or all addresses together, had too many"},
           {"http.shed_connections", &shed_connections_,
            "connections that were closed, and requests that were rejected, because clients together had exceeded "
            "`limits.http_max_bytes_in_flight`"},
           {"http.shed_writes", &shed_writes_,
            "writes that were rejected because the server was overloaded (`limits.overload_delay`)"},
           {"http.shed_reads", &shed_reads_,
            "reads that were rejected because the server was overloaded even without writes"},
           {"http.renderings", &renderings_, "responses of more than 64 KiB that were rendered"},
           {"http.shared_answers", &shared_answers_,
            "responses of more than 64 KiB that were rendered once for several requests: each request after the first "
            "counts"},
           {"raft.shed_writes", &shed_forwarded_,
            "writes from other servers that this server rejected as the leader because it was overloaded"},
           {"claims.deadlock_searches_cut", &deadlock_searches_cut_,
            "deadlock searches that stopped at 10,000 sessions and resources; the claim waits although it may be part "
            "of a deadlock"},
           {"changes.streams_cut", &change_streams_cut_,
            "streams of the change feed that were closed because their clients were slow"},
           {"changes.streams_reset", &change_streams_reset_,
            "streams that started over with all keys because changes were no longer kept, a snapshot was restored, or "
            "permissions changed"},
           {"outcomes.replayed", &outcomes_replayed_,
            "writes with an Idempotency-Key that were answered with their kept outcome"},
           {"checkpoint.unproven", &checkpoints_unproven_,
            "checkpoints that were not used because they read back different from what was written"},
           {"audit.lines", &audit_lines_, "lines in the audit log"},
           {"audit.lost_lines", &audit_lost_,
            "lines that could not be written to the audit log (`delivery_guarantee` is `best-effort`)"},
           {"audit.refused_requests", &audit_refused_,
            "requests that were rejected because the audit log could not be written (`delivery_guarantee` is "
            "`enforced`)"}}};
}

std::array<metrics::distribution_ref, 13> metrics::distributions() {
  return {
      {{"raft.fsync", "raft.fsync_seconds", &metrics::fsync_, 1 / ns_per_ms, seconds_per_ns,
        "time to make a batch of log entries durable"},
       {"raft.batch_entries", "raft.batch_entries", &metrics::batch_, 1, 1, "log entries that one sync made durable"},
       {"checkpoint.write", "checkpoint.write_seconds", &metrics::checkpoint_, 1 / ns_per_ms, seconds_per_ns,
        "time to write a checkpoint"},
       {"raft.commitTime", "raft.commitTime", &metrics::commit_time_, 1 / ns_per_ms, seconds_per_ns,
        "time from the arrival of a command at the leader until it is committed (Consul's name)"},
       {"kvs.apply", "kvs.apply", &metrics::kv_write_, 1 / ns_per_ms, seconds_per_ns,
        "time of a write of a key at the server that received the request, until its outcome is known (Consul's name)"},
       {"txn.apply", "txn.apply", &metrics::transaction_, 1 / ns_per_ms, seconds_per_ns,
        "the same for a transaction (Consul's name)"},
       {"session.apply", "session.apply", &metrics::session_write_, 1 / ns_per_ms, seconds_per_ns,
        "the same for the creation or destruction of a session (Consul's name)"},
       {"session.renew", "session.renew", &metrics::session_renewal_, 1 / ns_per_ms, seconds_per_ns,
        "the same for the renewal of a session, which writes nothing to the log (Consul's name)"},
       {"catalog.register", "catalog.register", &metrics::registration_, 1 / ns_per_ms, seconds_per_ns,
        "the same for a registration in the catalog (Consul's name)"},
       {"catalog.deregister", "catalog.deregister", &metrics::deregistration_, 1 / ns_per_ms, seconds_per_ns,
        "the same for a deregistration from the catalog (Consul's name)"},
       {"session_ttl.invalidate", "session_ttl.invalidate", &metrics::session_invalidated_, 1 / ns_per_ms,
        seconds_per_ns,
        "time from the expiry of a session's TTL until the session is removed; only on the leader (Consul's name)"},
       {"raft.leader.lastContact", "raft.leader.lastContact", &metrics::last_contact_, 1 / ns_per_ms, seconds_per_ns,
        "longest time since the leader heard from a voter, measured every 2 s; only on the leader, and none if it is "
        "the only voter (Consul's name)"},
       {"changes.lag", "changes.lag_entries", &metrics::change_stream_lag_, 1, 1,
        "log entries between a stream's cursor and the applied index, at each read for a stream that reconnects or is "
        "behind"}}};
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

std::string metrics::json(std::string_view prefix, std::int64_t now, bool old_names) const {
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
  const auto gauge = [&](std::string_view name, const auto& value, const std::string& labels) {
    out += first ? "{\"Name\":\"" : ",{\"Name\":\"";
    first = false;
    out += json_name(prefix, name) + "\",\"Value\":";
    append(out, value);
    out += ",\"Labels\":{" + labels + "}}";
  };
  for (const auto& g : gauges())
    if (const auto value = g.value->load(std::memory_order_relaxed); value != unknown)
      for (const auto name : shown_names(g.name, old_names))
        gauge(name, value, "");
  for (const auto& c : certificates_now()) {
    std::string labels;
    go_compat::append_json_string(labels += "\"certificate\":", c.name);
    go_compat::append_json_string(labels += ",\"use\":", c.use);
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

std::string metrics::prometheus(std::string_view prefix, bool old_names) const {
  std::string out;
  for (const auto& g : gauges()) {
    const auto value = g.value->load(std::memory_order_relaxed);
    if (value == unknown)
      continue;
    for (const auto shown : shown_names(g.name, old_names)) {
      const auto name = prometheus_name(prefix, shown);
      append_header(out, name, "gauge");
      out += name + " ";
      append(out, value);
      out += '\n';
    }
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

This page is generated from the tables in `actors/telemetry/metrics.cpp`.
To change it, edit those, then run `BELAY_REWRITE=1 build/dev/test_node 'docs/reference/metrics.md*'`.

`GET /v1/agent/metrics` returns the metrics of the server that receives the request, as JSON.
With `?format=prometheus` it returns Prometheus' text format, if `telemetry.prometheus_retention_time` is above 0.

- In JSON, counters and samples cover the last complete interval of )" +
      std::to_string(interval) +
      R"( s, or the time since the start before the first one.
  Those without an event are left out.
- For Prometheus, they count from the start of the process.
- The names below are without `telemetry.metrics_prefix`.
  With the default prefix, `raft.term` is `consul.raft.term` in JSON and `consul_raft_term` for Prometheus.

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

JSON shows count, rate, sum, minimum, maximum, mean and standard deviation; Prometheus gets a histogram.
Times are in milliseconds in JSON and in seconds for Prometheus, where some have another name.

| name, name for Prometheus | |
|---|---|
)";
  const auto sample = [&](std::string_view name, std::string_view prometheus_name, std::string_view means) {
    out.append("| `").append(name);
    if (prometheus_name != name)
      out.append("`, `").append(prometheus_name);
    out.append("` | ").append(means).append(" |\n");
  };
  for (const auto& d : distributions())
    sample(d.name, d.prometheus_name, d.means);
  sample(
      requests_name, requests_prometheus_name,
      "time of a request until its response is handed to the connection. Labels: `code`, the status; `route`, the path "
      "without its variable parts. `route` is `blocking` for blocking queries that waited, and `other` after the "
      "first " +
          std::to_string(served_max) + " pairs of labels");
  out += R"(
## The process

These are for Prometheus only, with the names that its client libraries use, without `telemetry.metrics_prefix`.
Consul's `runtime.*` metrics describe Go's memory and goroutines.
Watch `process_resident_memory_bytes` and `process_cpu_seconds_total` instead.

| name | |
|---|---|
)" + process_reference();
  return out;
}

} // namespace belay::actors
