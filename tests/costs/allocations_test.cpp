// Compares the allocations of each step of a request with the limits in allocations.txt. Unlike
// times, they are the same on every machine. So the change that adds a copy to a hot path fails.

#include "bench/request_steps.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <new>

namespace {

std::size_t allocations = 0;

void* counted_or_null(std::size_t bytes) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* counted(std::size_t bytes) {
  if (void* p = counted_or_null(bytes))
    return p;
  throw std::bad_alloc();
}

/// By name: `NUMBER NAME` in each line, `#` begins a comment.
std::map<std::string, double> limits() {
  std::map<std::string, double> all;
  std::ifstream in(BELAY_SOURCE_DIR "/tests/costs/allocations.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    const auto blank = line.find(' ');
    all[line.substr(blank + 1)] = std::stod(line.substr(0, blank));
  }
  return all;
}

/// On average, once buffers have their size. Growth of tables is in it, which is why it need not be whole.
double allocations_of(const belay::bench::request_step& step) {
  constexpr int warm_up = 50, runs = 400;
  for (int i = 0; i < warm_up; ++i)
    step.run();
  const auto before = allocations;
  for (int i = 0; i < runs; ++i)
    step.run();
  return static_cast<double>(allocations - before) / runs;
}

} // namespace

// All forms except those for aligned memory. What one of them allocates, any of the others may have
// to free, and the sanitizer's own would not know it.
void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_or_null(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_or_null(bytes);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}

TEST_CASE("no step of a request allocates more often than its limit") {
  const auto allowed = limits();
  std::size_t known = 0;
  for (const auto& step : belay::bench::request_steps()) {
    const auto n = allocations_of(step);
    INFO(step.name << ": " << n << " allocations; the limit is in tests/costs/allocations.txt");
    const auto limit = allowed.find(step.name);
    if (limit == allowed.end()) {
      FAIL_CHECK("has no limit");
      continue;
    }
    ++known;
    CHECK(n <= limit->second);
    // What was gained must not be lost again unseen.
    CHECK(n >= 0.8 * limit->second - 1);
  }
  CHECK(known == allowed.size());
}
