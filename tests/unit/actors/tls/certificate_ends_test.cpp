// Certificates that expire soon are reported while there is time to replace them.

#include "actors/tls/certificate_ends.hpp"
#include "actors/tls/credentials.hpp"
#include "tests/unit/actors/tls/certificate_files.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <ctime>

using namespace belay::tls;

namespace {

constexpr std::int64_t day = 86400, now = 1'800'000'000;
using urgency = certificate_watch::urgency;

} // namespace

TEST_CASE("days are whole, and negative when it is over") {
  const auto left = [](std::int64_t seconds) { return days_left({"c", now + seconds, false}, now); };
  CHECK(left(0) == 0);
  CHECK(left(day - 1) == 0);
  CHECK(left(day) == 1);
  CHECK(left(30 * day) == 30);
  CHECK(left(-1) == -1);
  CHECK(left(-day) == -1);
  CHECK(left(-day - 1) == -2);
}

TEST_CASE("each threshold is reported once, and a replaced certificate starts over") {
  certificate_watch w;
  const certificate_end c{"CN = a", now + 100 * day, false};
  const auto at = [&](std::int64_t days_before) { return w.look({c}, c.at - days_before * day); };
  CHECK(at(31).empty());
  auto n = at(30);
  REQUIRE(n.size() == 1);
  CHECK(n[0].how == urgency::soon);
  CHECK(n[0].days == 30);
  CHECK(at(29).empty());
  CHECK(at(8).empty());
  n = at(7);
  REQUIRE(n.size() == 1);
  CHECK(n[0].how == urgency::urgent);
  CHECK(at(0).empty());
  n = at(-1);
  REQUIRE(n.size() == 1);
  CHECK(n[0].how == urgency::over);
  CHECK(at(-2).empty());
  CHECK(w.look({{"CN = a", c.at + 365 * day, false}}, c.at).empty());
  CHECK(w.look({c}, c.at - 3 * day).size() == 1); // and back again
}

TEST_CASE("the expiry of a server's certificates and CAs is found") {
  certificate_files files;
  const auto c = loaded(files.signed_by(authority_named("test CA"), "a"));
  const auto all = certificate_ends(c->accepting());
  REQUIRE(all.size() >= 2);
  const auto shown = std::count_if(all.begin(), all.end(), [](const auto& e) { return !e.of_auth_context; });
  CHECK(shown >= 1);
  for (const auto& e : all) {
    CHECK(e.at > std::time(nullptr));
    CHECK(e.name.find(e.of_auth_context ? "test CA" : "server.dc1.consul") != std::string::npos);
  }
  CHECK(certificate_ends(nullptr).empty());
}
