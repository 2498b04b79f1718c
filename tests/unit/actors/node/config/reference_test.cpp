// The pages generated from tables in the code. BELAY_REWRITE=1 writes them; review by git diff.

#include "actors/node/config/keys.hpp"
#include "actors/node/config/reference.hpp"
#include "actors/telemetry/metrics.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace belay::actors;

namespace {

void check_page(const std::string& name, const std::string& made) {
  const auto file = std::string(BELAY_SOURCE_DIR "/docs/reference/") + name;
  if (std::getenv("BELAY_REWRITE") != nullptr)
    std::ofstream(file, std::ios::binary) << made;
  std::ifstream in(file, std::ios::binary);
  const std::string stored{std::istreambuf_iterator<char>(in), {}};
  INFO("docs/reference/" << name << " is not what the tables say: BELAY_REWRITE=1 writes it");
  CHECK(stored == made);
}

} // namespace

TEST_CASE("docs/reference/configuration.md equals the tables") {
  check_page("configuration.md", configuration_reference());
}

TEST_CASE("docs/reference/metrics.md equals the tables") {
  check_page("metrics.md", metrics::reference());
}

// The page must have the meaning of every key, and the default of every setting.
TEST_CASE("every key has a text, and every text a key") {
  auto texts = texts_of_keys();
  for (const auto& key : config_keys()) {
    if (key.kind == config_kind::section)
      continue;
    INFO(key.path);
    const auto found = texts.find(key.path);
    REQUIRE(found != texts.end());
    CHECK(found->second.means.find('|') == std::string::npos);
    CHECK(found->second.means.size() > 8);
    CHECK(found->second.by_default.empty() == (key.effect != config_effect::effective));
    texts.erase(found);
  }
  for (const auto& [key, text] : texts)
    FAIL_CHECK("a text for no key: " << key);
}
