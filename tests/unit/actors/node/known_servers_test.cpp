// An agent that got its servers by a join must find them after a crash.

#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/known_servers.hpp"

#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <iterator>

using namespace belay::actors;

TEST_CASE("known servers survive a round trip; damage is found, whichever byte it is") {
  const belay::harness::scratch_folder folder;
  const auto directory = folder.path().string();
  CHECK(load_known_servers(directory)->empty());
  const std::vector<std::string> servers{"10.0.0.1:8300", "[::1]:8300", "server.example:1"};
  REQUIRE(save_known_servers(directory, servers));
  CHECK(*load_known_servers(directory) == servers);

  const auto file = directory + "/known-servers";
  std::ifstream in(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    std::ofstream(file, std::ios::binary) << damaged;
    CHECK_FALSE(load_known_servers(directory).ok());
    std::ofstream(file, std::ios::binary) << bytes.substr(0, i);
    CHECK_FALSE(load_known_servers(directory).ok());
  }
}

TEST_CASE("invalid server addresses are not stored, and no more than the limit") {
  const belay::harness::scratch_folder folder;
  const auto directory = folder.path().string();
  std::vector<std::string> servers{"a:1\nchecksum 00000000", "", "no port", "b:0", std::string(1000, 'c') + ":1"};
  for (int i = 0; i < 100; ++i)
    servers.push_back("10.0.0." + std::to_string(i) + ":8300");
  REQUIRE(save_known_servers(directory, servers));
  const auto kept = load_known_servers(directory);
  REQUIRE(kept.ok());
  CHECK(kept->size() == known_servers_max);
  CHECK(kept->front() == "10.0.0.0:8300");
}

TEST_CASE("an agent with servers has not left; only the newest list is written") {
  const belay::harness::scratch_folder folder;
  const auto directory = folder.path().string();
  known_servers_keeper keeper(directory);
  REQUIRE(note_left(directory, true));
  REQUIRE(keeper.write()); // nothing was taken
  CHECK(*has_left(directory));
  keeper.take({"a:1"});
  keeper.take({"b:1", "c:1"});
  REQUIRE(keeper.write());
  CHECK(*load_known_servers(directory) == std::vector<std::string>{"b:1", "c:1"});
  CHECK_FALSE(*has_left(directory));
}
