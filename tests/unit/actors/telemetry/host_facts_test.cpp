// What is reported about the machine: the members that Consul's clients know, from Linux's files.

#include "actors/telemetry/host_facts.hpp"

#include <boost/json/parse.hpp>

#include <catch2/catch.hpp>

using namespace belay::actors;
namespace json = boost::json;

TEST_CASE("memory is reported in bytes, and used memory is without buffers and caches") {
  const auto m = json::parse(memory_json("MemTotal:       1000 kB\nMemFree:         400 kB\nBuffers:          50 kB\n"
                                         "Cached:          100 kB\nSReclaimable:     30 kB\nShmem:             7 kB\n"
                                         "HugePages_Total:       3\nCommitted_AS:      9 kB\nodd line\n"));
  CHECK(m.at("total").to_number<int>() == 1000 * 1024);
  CHECK(m.at("used").to_number<int>() == (1000 - 400 - 50 - 130) * 1024);
  CHECK(m.at("usedPercent").to_number<double>() == Approx(42.0));
  CHECK(m.at("cached").to_number<int>() == 130 * 1024);
  CHECK(m.at("shared").to_number<int>() == 7 * 1024);
  CHECK(m.at("hugepagestotal").to_number<int>() == 3);
  CHECK(m.at("committedas").to_number<int>() == 9 * 1024);
  CHECK(m.at("swapfree").to_number<int>() == 0);
  CHECK(json::parse(memory_json("")).at("usedPercent").to_number<double>() == 0);
}

TEST_CASE("each processor is reported, with its flags") {
  const auto all = json::parse(processors_json("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu MHz\t\t: 2596.096\n"
                                               "cache size\t: 1024 KB\nflags\t\t: fpu vme\n\nprocessor\t: 1\n\n"));
  REQUIRE(all.as_array().size() == 2);
  CHECK(all.at(0).at("vendorId").as_string() == "AuthenticAMD");
  CHECK(all.at(0).at("mhz").to_number<double>() == Approx(2596.096));
  CHECK(all.at(0).at("cacheSize").to_number<int>() == 1024);
  CHECK(all.at(0).at("flags").as_array().size() == 2);
  CHECK(all.at(1).at("cpu").to_number<int>() == 1);
  CHECK(all.at(1).at("flags").as_array().empty());
}

TEST_CASE("this machine has memory, a disk and a name; unreadable values are errors") {
  const auto h = json::parse(host_json("/", 42));
  CHECK(h.at("Memory").at("total").to_number<std::uint64_t>() > 0);
  CHECK_FALSE(h.at("CPU").as_array().empty());
  CHECK_FALSE(h.at("Host").at("hostname").as_string().empty());
  CHECK(h.at("Host").at("procs").to_number<int>() > 0);
  CHECK(h.at("Disk").at("total").to_number<std::uint64_t>() > 0);
  CHECK(h.at("CollectionTime").to_number<int>() == 42);
  const auto wrong = json::parse(host_json("/no/such/place", 42));
  CHECK(wrong.at("Errors").as_array().back().as_string() == "/no/such/place: No such file or directory");
}
