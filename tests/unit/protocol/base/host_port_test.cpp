// One parser of addresses for configurations, peers, checks and the command line.

#include "protocol/base/host_port.hpp"

#include <catch2/catch.hpp>

using namespace belay;

namespace {

struct row {
  const char* address;
  const char* host;
  const char* port; ///< nullptr: none
  std::uint16_t number;
};
constexpr const char* none = nullptr;

void check(host_port (*split)(std::string_view), const row& r) {
  INFO(r.address);
  const auto parts = split(r.address);
  CHECK(parts.host == r.host);
  CHECK(parts.port == (r.port ? std::optional<std::string>(r.port) : std::nullopt));
  CHECK(parts.number() == r.number);
}

} // namespace

TEST_CASE("host_port: the last colon outside brackets precedes the port") {
  for (const auto& r :
       {row{"node:8300", "node", "8300", 8300}, row{"10.0.0.1:1", "10.0.0.1", "1", 1}, row{"node", "node", none, 0},
        row{"[::1]:8300", "::1", "8300", 8300}, row{"[::1]", "::1", none, 0}, row{"::1:8300", "::1", "8300", 8300},
        row{":3", "", "3", 3}, row{"node:", "node", "", 0}, row{"node:65535", "node", "65535", 65535},
        row{"node:65536", "node", "65536", 0}, row{"node:http", "node", "http", 0}, row{"[::1", "[::1", none, 0},
        row{"", "", none, 0}})
    check(split_host_port, r);
}

TEST_CASE("host_port: where the port may be missing, an IPv6 address has none without brackets") {
  for (const auto& r : {row{"node:8300", "node", "8300", 8300}, row{"node", "node", none, 0},
                        row{"::1", "::1", none, 0}, row{"fe80::1:8300", "fe80::1:8300", none, 0},
                        row{"[::1]:2", "::1", "2", 2}, row{"[::1]", "::1", none, 0}, row{":3", "", "3", 3}})
    check(split_optional_port, r);
}

TEST_CASE("host_port: addresses are put together") {
  CHECK(join_host_port("node", std::uint16_t{8300}) == "node:8300");
  CHECK(join_host_port("::1", std::uint16_t{8300}) == "[::1]:8300");
  CHECK(join_host_port("::", "http") == "[::]:http");
  CHECK(join_host_port("", "3") == ":3");
  for (const auto* same : {"node:8300", "[::1]:8300", "node", "", "[::1"})
    CHECK(with_brackets(same) == same);
  CHECK(with_brackets("::1:8300") == "[::1]:8300");
  CHECK(without_brackets("[::1]") == "::1");
  CHECK(without_brackets("::1") == "::1");
  CHECK(without_brackets("[]") == "[]");
  CHECK(without_brackets("") == "");
}
