#include "tests/scenarios/scenario.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace belay::raft::testing;

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace

TEST_CASE("scenarios") {
  const std::filesystem::path folder = std::filesystem::path(BELAY_SOURCE_DIR) / "tests" / "scenarios";
  std::vector<std::filesystem::path> files;
  for (const auto& f : std::filesystem::directory_iterator(folder))
    if (f.path().extension() == ".txt")
      files.push_back(f.path());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() >= 20);
  for (const auto& path : files) {
    const auto wanted = read_file(path);
    scenario s;
    const auto came = s.run(wanted);
    INFO(path.filename().string());
    if (std::getenv("BELAY_REWRITE") != nullptr)
      std::ofstream(path) << came;
    else
      CHECK(came == wanted);
    CHECK(came.find("BROKEN") == std::string::npos);
  }
}
