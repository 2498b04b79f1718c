// The valid keys of `encrypt`: Consul's file, which allows replacing a key server by server.

#include "actors/node/disk/peer_keyring.hpp"
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

TEST_CASE("the file takes precedence, with its order, over the configuration", "[keyring]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  put(dir, "[\"" + two + "\",\n \"" + one + "\"]");
  for (const auto& encrypt : {std::string(), one})
    CHECK(*keys_in_force(dir, encrypt) == std::vector<std::string>{two, one});
}

TEST_CASE("a malformed keyring is reported with its name", "[keyring]") {
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

TEST_CASE("a path that is not a keyring file is reported, and not read forever", "[keyring]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  std::filesystem::create_directories(dir + "/serf");
  std::filesystem::create_symlink("/dev/zero", keyring_file(dir));
  CHECK(keys_in_force(dir, one).error() == "cannot read " + keyring_file(dir) + ": more than 16777216 bytes");
  std::filesystem::remove(keyring_file(dir));
  std::filesystem::create_directory(keyring_file(dir));
  CHECK(keys_in_force(dir, one).error().find("cannot read " + keyring_file(dir) + ": ") == 0);
}

TEST_CASE("an operation changes the file first, and then the keys for new connections", "[keyring]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  put(dir, "[\"" + one + "\"]");
  tls::credential_settings s;
  s.encrypt = *keys_in_force(dir, "");
  tls::credential_store store(*tls::credentials::load(s));
  const auto before = store.now();
  const auto texts = [&] {
    std::vector<std::string> found;
    for (const auto& k : store.now()->keys())
      found.push_back(k.text);
    return found;
  };
  using enum forward::keyring_verb;
  const auto line_break = two.substr(0, 8) + "\n" + two.substr(8); // another spelling of the same key
  CHECK(operate_keyring_of(dir, store, {install, line_break}).ok);
  CHECK(operate_keyring_of(dir, store, {use, two}).ok);
  CHECK(texts() == std::vector<std::string>{two, one});
  CHECK(*keys_in_force(dir, "") == texts());
  CHECK(operate_keyring_of(dir, store, {list, ""}).keys == texts());
  CHECK(operate_keyring_of(dir, store, {remove, one}).ok);
  CHECK(*keys_in_force(dir, one) == std::vector<std::string>{two});
  CHECK(before->keys().size() == 1); // connections that began with it keep it
  CHECK(before->keys().front().text == one);
  CHECK(store.now()->dials_with_key());
  struct stat st {};
  REQUIRE(::stat(keyring_file(dir).c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
}

TEST_CASE("an operation that cannot be stored is not done; without a file it is done in memory", "[keyring]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  tls::credential_settings s;
  s.encrypt = {one};
  tls::credential_store store(*tls::credentials::load(s));
  std::ofstream(dir + "/serf") << "a file where a folder belongs";
  const auto refused = operate_keyring_of(dir, store, {forward::keyring_verb::install, two});
  CHECK_FALSE(refused.ok);
  CHECK(refused.text.find("local.keyring") != std::string::npos);
  CHECK(store.now()->keys().size() == 1);
  CHECK(operate_keyring_of("", store, {forward::keyring_verb::install, two}).ok);
  CHECK(store.now()->keys().size() == 2);
  // Keys from peers have not passed the checks of the API.
  for (const auto* no_key : {"", "QUJD", "!!", "QUJDREVGR0hJSktMTU5PUA"})
    CHECK(operate_keyring_of("", store, {forward::keyring_verb::install, no_key}).text ==
          "key size must be 16, 24 or 32 bytes");
}
