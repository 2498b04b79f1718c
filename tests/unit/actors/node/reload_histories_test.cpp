// An operator reloads repeatedly: correct settings, and settings with an error in them. After a
// rejected reload, the previous settings must still be in force, whatever the earlier reloads were.
// A test with one reload does not cover the second.

#include "protocol/base/random.hpp"
#include "tests/unit/actors/node/reloading_node.hpp"

#include <array>

using namespace belay;
using namespace belay::actors;

namespace {

/// The expected state of a node, from the settings accepted last.
struct in_force {
  log::level lowest = log::level::info;
  std::size_t http = 200, peers = 100;
  std::string token, rack, key;
  std::size_t services = 0;

  bool operator==(const in_force&) const = default;
};

/// An error in the settings; each is detected by another part of a reload.
enum class mistake : std::uint8_t { none, unknown_key, certificate, definitions, log_file };
constexpr std::size_t mistakes = 5;

struct level_name {
  const char* name;
  log::level lowest;
};
constexpr std::array levels{level_name{"TRACE", log::level::trace}, level_name{"DEBUG", log::level::debug},
                            level_name{"INFO", log::level::info}, level_name{"WARN", log::level::warn},
                            level_name{"ERR", log::level::error}};
constexpr std::array keys{"pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=",
                          "2vW3Yq0e1mVxq8gJx2b0Zb3s4c5d6e7f8g9h0i1j2k0="};

std::string settings_of(const in_force& wanted) {
  std::string text = R"(,"disable_keyring_file":true,"log_level":")";
  for (const auto& each : levels)
    if (each.lowest == wanted.lowest)
      text += each.name;
  text += R"(","limits":{"http_max_conns_per_client":)" + std::to_string(wanted.http) +
          R"(,"rpc_max_conns_per_client":)" + std::to_string(wanted.peers) + "}";
  if (!wanted.token.empty())
    text += R"(,"acl":{"tokens":{"default":")" + wanted.token + R"("}})";
  if (!wanted.rack.empty())
    text += R"(,"node_meta":{"rack":")" + wanted.rack + R"("})";
  if (!wanted.key.empty())
    text += R"(,"encrypt":")" + wanted.key + R"(")";
  for (std::size_t i = 0; i < wanted.services; ++i)
    text += (i == 0 ? R"(,"services":[)" : ",") + std::string(R"({"name":"s)") + std::to_string(i) + R"("})";
  return text + (wanted.services == 0 ? "" : "]");
}

in_force drawn(seeded_random& random) {
  in_force f;
  f.lowest = levels[random.below(levels.size())].lowest;
  f.http = 1 + random.below(300);
  f.peers = 1 + random.below(300);
  f.token = random.below(2) == 0 ? "" : "t" + std::to_string(random.below(3));
  f.rack = random.below(2) == 0 ? "" : std::to_string(random.below(3));
  f.key = random.below(2) == 0 ? "" : keys[random.below(keys.size())];
  f.services = random.below(3);
  return f;
}

in_force seen(const reloading_node& n, const in_force& unseen) {
  in_force f = unseen; // definitions are reported when they change
  for (const auto& each : levels)
    if (log::enabled(each.lowest)) {
      f.lowest = each.lowest;
      break;
    }
  f.http = n.http.now();
  f.peers = n.peers.now();
  f.token = n.default_token;
  const auto known = n.credentials->now()->keys();
  f.key = known.empty() ? "" : known.front().text;
  if (n.defined) {
    f.services = n.defined->services.size();
    f.rack = n.defined->node_meta.contains("rack") ? n.defined->node_meta.at("rack") : "";
  }
  return f;
}

} // namespace

TEST_CASE("after any history of reloads that was accepted last is in force", "[reload]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    seeded_random random(seed);
    reloading_node n("");
    in_force now;
    std::string history;
    for (int step = 0; step < 12; ++step) {
      const auto next = drawn(random);
      const auto wrong = random.below(2) == 0 ? mistake::none : static_cast<mistake>(random.below(mistakes));
      history += std::to_string(static_cast<int>(wrong)) + " ";
      INFO("seed " << seed << ", mistakes " << history << ", settings " << settings_of(next));
      auto settings = settings_of(next);
      settings += wrong == mistake::unknown_key   ? R"(,"bogus":1)"
                  : wrong == mistake::certificate ? R"(,"ca_file":"/nonexistent/ca.pem")"
                                                  : "";
      n.definitions_fail = wrong == mistake::definitions ? "refused" : "";
      n.write(settings, wrong == mistake::log_file ? "/nonexistent/folder/log" : "");
      CHECK((n.reload() == "reloaded") == (wrong == mistake::none));
      now = wrong == mistake::none ? next : now;
      CHECK(seen(n, now) == now);
    }
  }
}
