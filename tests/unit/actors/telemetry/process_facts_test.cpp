// What Prometheus receives about the process.

#include "actors/telemetry/process_facts.hpp"

#include <catch2/catch.hpp>

#include <ctime>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

using namespace belay::actors;

TEST_CASE("this process uses time, memory and descriptors") {
  const auto before = read_process_facts();
  CHECK(before.resident_bytes > 1'000'000);
  CHECK(before.virtual_bytes >= before.resident_bytes);
  CHECK(before.open_files >= 3);
  CHECK(before.started > 1'000'000'000);
  CHECK(before.started <= static_cast<double>(std::time(nullptr)) + 2);
  std::vector<int> more;
  for (int i = 0; i < 5; ++i)
    more.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  volatile unsigned work = 0;
  while (read_process_facts().cpu_seconds <= before.cpu_seconds)
    for (int i = 0; i < 1'000'000; ++i)
      work = work + 1;
  CHECK(read_process_facts().open_files == before.open_files + 5);
  for (const int fd : more)
    ::close(fd);
}

TEST_CASE("numbers of the process have Prometheus' names and no exponents") {
  std::string out;
  append_prometheus(out, {1.25, 123456789012, 2, 3, 4, 1795457381.5});
  CHECK(out.find("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.25\n") == 0);
  CHECK(out.find("process_resident_memory_bytes 123456789012\n") != std::string::npos);
  CHECK(out.find("process_start_time_seconds 1795457381.5\n") != std::string::npos);
}
