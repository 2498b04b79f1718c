// Times each step of a request by itself (Google Benchmark). Figures depend on the machine.
//
//   micro [--keys=N] [--value_bytes=N] [--watchers=N] [--benchmark_filter=REGEX] ...

#include "bench/request_steps.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  belay::bench::state_size size;
  for (int i = 1; i < argc; ++i)
    if (std::sscanf(argv[i], "--keys=%zu", &size.keys) != 1 &&
        std::sscanf(argv[i], "--watchers=%zu", &size.watchers) != 1 &&
        std::sscanf(argv[i], "--value_bytes=%zu", &size.value_bytes) != 1) {
      std::fprintf(stderr, "micro: unknown option %s\n", argv[i]);
      return 64;
    }
  if (size.keys < 16 || size.watchers == 0) {
    std::fprintf(stderr, "micro: at least 16 keys and one watcher\n");
    return 64;
  }
  for (auto& step : belay::bench::request_steps(size))
    benchmark::RegisterBenchmark(step.name.c_str(), [run = step.run](benchmark::State& state) {
      for (auto _ : state)
        run();
    });
  benchmark::RunSpecifiedBenchmarks();
}
