#pragma once
// A histogram of latencies, and the percentiles read from it.

#include "bench/load/event_loop.hpp"

// Log-linear, 128 steps an octave: under 0.8 % error from 128 ns upward.
class histogram {
public:
  histogram() : c_(64 * 128) {}
  void add(u64 ns) {
    c_[idx(ns)]++;
    n_++;
    sum_ += ns;
    if (ns > max_)
      max_ = ns;
    if (ns < min_)
      min_ = ns;
  }
  u64 n() const { return n_; }
  double mean_us() const { return n_ ? double(sum_) / double(n_) / 1e3 : 0; }
  double max_us() const { return double(max_) / 1e3; }
  double min_us() const { return n_ ? double(min_) / 1e3 : 0; }
  double q_us(double q) const {
    if (!n_)
      return 0;
    u64 want = u64(q * double(n_ - 1)) + 1, acc = 0;
    for (size_t i = 0; i < c_.size(); i++)
      if ((acc += c_[i]) >= want)
        return std::min(double(mid(i)), double(max_)) / 1e3;
    return max_us();
  }
  std::string json() const {
    char b[240];
    snprintf(
        b, sizeof b,
        "{\"n\":%llu,\"mean\":%.1f,\"p50\":%.1f,\"p95\":%.1f,\"p99\":%.1f,\"p999\":%.1f,\"min\":%.1f,\"max\":%.1f}",
        (unsigned long long)n_, mean_us(), q_us(.5), q_us(.95), q_us(.99), q_us(.999), min_us(), max_us());
    return b;
  }

private:
  static size_t idx(u64 v) {
    if (v < 128)
      return size_t(v);
    int e = 63 - __builtin_clzll(v);
    return size_t((e - 6) * 128) + size_t((v >> (e - 7)) & 127);
  }
  static u64 mid(size_t i) {
    if (i < 128)
      return i;
    int e = int(i / 128) + 6;
    u64 lo = (128 + u64(i % 128)) << (e - 7);
    return lo + ((1ull << (e - 7)) >> 1);
  }
  std::vector<u64> c_;
  u64 n_ = 0, sum_ = 0, max_ = 0, min_ = ~0ull;
};
