// Times each step of a request by itself (Google Benchmark). Not a test: figures depend on the machine.
//
//   micro [--benchmark_filter=REGEX] [--benchmark_repetitions=N] ...

#include "bench/request_steps.hpp"

#include <benchmark/benchmark.h>

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 64;
  for (auto& step : belay::bench::request_steps())
    benchmark::RegisterBenchmark(step.name.c_str(), [run = step.run](benchmark::State& state) {
      for (auto _ : state)
        run();
    });
  benchmark::RunSpecifiedBenchmarks();
}
