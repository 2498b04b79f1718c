#pragma once
// Collects the figures of one run of the load generator, and prints them as JSON.

#include "bench/load/client.hpp"
#include "bench/load/histogram.hpp"
#include "bench/load/usage.hpp"

struct json_object {
  std::string s = "{";
  json_object& raw(const char* k, const std::string& v) {
    if (s.size() > 1)
      s += ',';
    s += "\"" + std::string(k) + "\":" + v;
    return *this;
  }
  json_object& num(const char* k, double v) {
    char b[40];
    snprintf(b, sizeof b, "%.10g", v);
    return raw(k, b);
  }
  json_object& str(const char* k, std::string v) {
    std::string e;
    for (char c : v)
      e += (c == '"' || c == '\\' || uint8_t(c) < 32) ? ' ' : c;
    return raw(k, "\"" + e + "\"");
  }
  void print() { printf("%s}\n", s.c_str()); }
};

/// Operations count from start() to end(); failures always.
struct measured_run {
  bool measuring = false, stop = false;
  histogram all, reads, writes;
  u64 ops = 0;
  u64 errs[int(outcome::n)] = {};
  std::string err; ///< text of the first failure
  usage a, b;
  traffic from, to;
  u64 began = 0; ///< operations that began before are not measured

  void failed(outcome s, const std::string& why) {
    if (err.empty())
      err = std::string(outcome_name(s)) + ": " + why;
    errs[int(s)]++;
  }
  void record(histogram& kind, outcome s, u64 ns, const client& c) {
    if (s != outcome::ok)
      return failed(s, c.err);
    if (!measuring)
      return;
    ops++;
    if (now_ns() - ns < began)
      return;
    all.add(ns);
    kind.add(ns);
  }
  void start(const options& o) {
    if (o.counters) {
      let_count("begin");
      began = now_ns();
    }
    a = sample(o.pids);
    from = carried();
    measuring = true;
  }
  void end(const options& o) {
    measuring = false;
    b = sample(o.pids);
    to = carried();
    if (o.counters)
      let_count("end");
  }
  /// Pauses until the reader of the servers' counters continues.
  static void let_count(const char* where) {
    puts(where);
    fflush(stdout);
    for (int c; (c = getchar()) != '\n' && c != EOF;) {
    }
  }
  void print_to(json_object& j, double n_ops) const {
    double t = double(b.t - a.t) / 1e9;
    j.num("window_s", t).num("ops", n_ops).num("ops_s", n_ops / t);
    u64 e = 0;
    json_object kinds;
    for (int i = 1; i < int(outcome::n); i++)
      if (errs[i]) {
        kinds.num(outcome_name(outcome(i)), double(errs[i]));
        e += errs[i];
      }
    j.num("errors", double(e));
    if (e)
      j.raw("error_kinds", kinds.s + "}");
    if (!err.empty())
      j.str("first_error", err);
    double d = std::max(1.0, n_ops);
    j.num("srv_us_op", (b.srv_cpu_s - a.srv_cpu_s) * 1e6 / d);
    j.num("gen_us_op", (b.own_cpu_s - a.own_cpu_s) * 1e6 / d);
    j.num("srv_cpu_pct", (b.srv_cpu_s - a.srv_cpu_s) * 100 / t);
    j.num("gen_cpu_pct", (b.own_cpu_s - a.own_cpu_s) * 100 / t);
    j.num("box_cpu_pct", (b.box_busy_s - a.box_busy_s) * 100 / t);
    j.num("requests_op", double(to.requests - from.requests) / d);
    j.num("sent_op", double(to.sent - from.sent) / d).num("received_op", double(to.received - from.received) / d);
    j.num("rss_mb", double(b.rss_kb) / 1024);
    j.raw("lat_us", all.json());
  }
};
