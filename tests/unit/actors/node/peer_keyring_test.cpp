// The keys of `encrypt` that are valid: Consul's file, by which a key is replaced server by server.

#include "actors/node/peer_keyring.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

using namespace belay;
using namespace belay::actors;

namespace {

const std::string one = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const std::string two = "QUJDREVGR0hJSktMTU5PUA==";

void put(const std::string& data_dir, const std::string& text) {
  std::filesystem::create_directories(data_dir + "/serf");
  std::ofstream(keyring_file(data_dir), std::ios::trunc) << text;
}

} // namespace

TEST_CASE("without a file the key of the configuration makes one", "[keyring]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  const auto none = keys_in_force(dir, "");
  REQUIRE(none.ok());
  CHECK(none->empty());
  CHECK_FALSE(std::filesystem::exists(dir + "/serf"));
  REQUIRE(keys_in_force(dir, one).ok());
  CHECK(*keys_in_force(dir, one) == std::vector<std::string>{one});
  struct stat st {};
  REQUIRE(::stat(keyring_file(dir).c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
}

TEST_CASE("the file counts, in its order, whatever the configuration says", "[keyring]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  put(dir, "[\"" + two + "\",\n \"" + one + "\"]");
  for (const auto& encrypt : {std::string(), one})
    CHECK(*keys_in_force(dir, encrypt) == std::vector<std::string>{two, one});
}

TEST_CASE("a keyring that is none is told, with its name", "[keyring]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  for (const auto& text : std::vector<std::string>{"", "[]", "{}", "[1]", "[\"QUJD\"]", "[\"" + one + "\""}) {
    CAPTURE(text);
    put(dir, text);
    const auto refused = keys_in_force(dir, one);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().find("/serf/local.keyring: ") != std::string::npos);
  }
}
