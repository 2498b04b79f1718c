#pragma once
// CPU time and memory that the servers and the load generator have used so far, from /proc.

#include "bench/load/event_loop.hpp"

#include <sys/resource.h>

struct usage {
  u64 t = 0; ///< nanoseconds, monotonic
  double srv_cpu_s = 0, own_cpu_s = 0;
  u64 rss_kb = 0;
  double box_busy_s = 0; ///< all processors, all processes: shows interference
};

inline std::string slurp(const std::string& p) {
  std::string s;
  if (FILE* f = fopen(p.c_str(), "r")) {
    char b[8192];
    size_t n;
    while ((n = fread(b, 1, sizeof b, f)) > 0)
      s.append(b, n);
    fclose(f);
  }
  return s;
}

/// @param pids a process that has ended counts as zero
inline usage sample(const std::vector<int>& pids) {
  usage s;
  static const double hz = double(sysconf(_SC_CLK_TCK));
  for (int p : pids) {
    std::string d = "/proc/" + std::to_string(p), st = slurp(d + "/stat");
    auto k = st.rfind(')');
    if (k == std::string::npos)
      continue;
    unsigned long long user = 0, system = 0;
    sscanf(st.c_str() + k + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system);
    s.srv_cpu_s += double(user + system) / hz;
    std::string status = slurp(d + "/status");
    auto q = status.find("VmRSS:");
    if (q != std::string::npos)
      s.rss_kb += strtoull(status.c_str() + q + 6, nullptr, 10);
  }
  std::string ps = slurp("/proc/stat");
  unsigned long long v[8] = {};
  sscanf(ps.c_str(), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7);
  s.box_busy_s = double(v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / hz;
  rusage ru;
  getrusage(RUSAGE_SELF, &ru);
  s.own_cpu_s =
      double(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) + double(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
  s.t = now_ns();
  return s;
}
