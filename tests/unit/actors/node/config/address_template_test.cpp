// Addresses that a configuration leaves to the machine.

#include "actors/node/config/sections/address_template.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

const std::vector<interface_address> addresses_of_machine{
    {"lo", "127.0.0.1", false, 8},   {"lo", "::1", false, 128},      {"docker0", "172.17.0.1", false, 16},
    {"eth1", "192.0.2.1", false, 8}, {"eth1", "8.8.8.8", false, 24}, {"eth0", "fd00::2", true, 64},
    {"eth0", "10.1.2.3", true, 24},  {"eth0", "10.9.0.1", true, 20}, {"eth0", "10.1.2.4", true, 24},
};

std::string expanded(const std::string& text) {
  const auto r = expand_address_templates(text, addresses_of_machine);
  return r ? *r : "refused: " + r.error();
}

} // namespace

TEST_CASE("templates of addresses") {
  struct row {
    const char *text, *value;
  };
  const row rows[] = {
      {"127.0.0.1 ::1", "127.0.0.1 ::1"},
      {"{{ GetPrivateIP }}", "10.9.0.1"}, // not Docker's: packets leave through eth0
      {"{{GetPrivateIP}}", "10.9.0.1"},
      {"{{ GetInterfaceIP \"eth1\" }}", "8.8.8.8"},
      {"{{ GetInterfaceIP `docker0` }}", "172.17.0.1"},
      {"{{ GetInterfaceIP \"eth0\" }}", "10.9.0.1"}, // IPv4 first, and the larger network
      {"127.0.0.1 {{ GetPrivateIP }} {{GetInterfaceIP \"eth1\"}}", "127.0.0.1 10.9.0.1 8.8.8.8"},
      {"{{ GetInterfaceIP \"eth9\" }}", "refused: {{ GetInterfaceIP \"eth9\" }}: this machine has no such address"},
      {"{{ GetPrivateIP", "refused: an address template lacks its closing braces: {{ GetPrivateIP"},
  };
  for (const auto& r : rows) {
    INFO(r.text);
    CHECK(expanded(r.text) == r.value);
  }
  for (const auto* other : {"{{ GetPublicIP }}", "{{ GetPrivateIP \"eth0\" }}", "{{ GetInterfaceIP }}", "{{}}",
                            "{{ GetInterfaceIP \"eth0 }}", "{{ GetPrivateIP | join }}", "{{ GetInterfaceIP eth0 }}"}) {
    INFO(other);
    CHECK(expanded(other) == "refused: the address template " + std::string(other) +
                                 " is not supported: write the address, {{ GetPrivateIP }} or {{ GetInterfaceIP "
                                 "\"eth0\" }}");
  }
}

TEST_CASE("which addresses are private: RFC 6890, and unique local addresses of IPv6") {
  const auto private_of = [](const char* address) {
    return expand_address_templates("{{ GetPrivateIP }}", {{"eth0", address}}).ok();
  };
  for (const auto* inside :
       {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "198.19.0.1", "fd00::1"})
    CHECK(private_of(inside));
  for (const auto* outside :
       {"11.0.0.1", "172.32.0.1", "192.169.0.1", "100.128.0.1", "198.20.0.1", "2001:4860::1", "127.0.0.1", "192.0.2.1"})
    CHECK_FALSE(private_of(outside));
}

TEST_CASE("this machine has a loopback interface, and its addresses are found") {
  const auto there = interface_addresses();
  CHECK(expand_address_templates("{{ GetInterfaceIP \"lo\" }}", there).value() == "127.0.0.1");
}
