#include "actors/node/disk/acl_files.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

using namespace belay;
using namespace belay::actors;

namespace {

void put_file(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

} // namespace

TEST_CASE("tokens set by clients are stored, readable only by the owner") {
  harness::scratch_folder d;
  const auto dir = d.path().string();
  auto none = read_agent_tokens(dir);
  REQUIRE(none.ok());
  CHECK(*none == agent_token_values{});
  agent_token_values tokens;
  tokens.of_requests = "d";
  tokens.agent_master = "am";
  put_file(agent_tokens_file(dir) + ".new", "left behind");
  REQUIRE(save_agent_tokens(dir, tokens).ok());
  struct stat st {};
  REQUIRE(::stat(agent_tokens_file(dir).c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
  auto found = read_agent_tokens(dir);
  REQUIRE(found.ok());
  CHECK(*found == tokens);
  CHECK_FALSE(std::filesystem::exists(agent_tokens_file(dir) + ".new"));
  for (const auto* bad : {"", "[]", "{\"agent\":1}", "{"}) {
    put_file(agent_tokens_file(dir), bad);
    CHECK_FALSE(read_agent_tokens(dir).ok());
  }
}

TEST_CASE("the file for one more bootstrap holds a number") {
  harness::scratch_folder d;
  const auto dir = d.path().string(), file = dir + "/acl-bootstrap-reset";
  CHECK(read_bootstrap_reset(dir).is_zero());
  for (const auto* text : {"13", "13\n", "  13 \r\n"}) {
    put_file(file, text);
    CHECK(read_bootstrap_reset(dir) == log_index{13});
  }
  for (const auto* text : {"", "x", "13x", "-1", "99999999999999999999999"}) {
    put_file(file, text);
    CHECK(read_bootstrap_reset(dir).is_zero());
  }
  put_file(file, "13");
  remove_bootstrap_reset(dir);
  CHECK_FALSE(std::filesystem::exists(file));
  remove_bootstrap_reset(dir);
}
