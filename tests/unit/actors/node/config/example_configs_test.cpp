// Users start from the examples in configs/: a renamed key must be renamed there, too.

#include "actors/node/config/node_config.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

TEST_CASE("the example configurations are valid and have no keys without effect") {
  using namespace belay::actors;
  int found = 0;
  for (const auto& file : std::filesystem::directory_iterator(BELAY_SOURCE_DIR "/configs")) {
    if (file.path().extension() != ".json")
      continue;
    ++found;
    INFO(file.path().string());
    auto parsed = parse_config_files({file.path().string()});
    REQUIRE(std::holds_alternative<parsed_command_line>(parsed));
    for (const auto& w : std::get<parsed_command_line>(parsed).warnings)
      CHECK(w.find("without effect") == std::string::npos);
  }
  CHECK(found >= 4);
}
