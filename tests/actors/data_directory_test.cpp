// The owner of a data directory, and what is refused at the start with a text that says what to do.

#include "actors/agent/registration_keeper.hpp"
#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/node_disk.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace belay;
using namespace belay::actors;
namespace fs = std::filesystem;

namespace {

using harness::file_text;
using harness::scratch_folder;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a new directory is given an identity and keeps it", "[actors][data_directory][R8]") {
  scratch_folder d;
  const auto path = d / "data";
  const auto born = open_data_directory(path, "", "dc1");
  REQUIRE(born.ok());
  CHECK_FALSE(born.value().id.is_zero());
  CHECK(born.value().uuid.size() == 36);
  CHECK(born.value().cluster_id == 0);
  CHECK(file_text(path + "/node-id") == born.value().uuid);

  auto joined = born.value();
  joined.cluster_id = 0xfedcba9876543210;
  REQUIRE(save_identity(path, joined).ok());
  const auto again = open_data_directory(path, "", "dc1");
  REQUIRE(again.ok());
  CHECK(again.value().id == born.value().id);
  CHECK(again.value().uuid == born.value().uuid);
  CHECK(again.value().cluster_id == joined.cluster_id);

  // The disk is lost: the same path is another server now, even with the same node_id of Consul's.
  fs::remove_all(path);
  const auto reborn = open_data_directory(path, born.value().uuid, "dc1");
  REQUIRE(reborn.ok());
  CHECK(reborn.value().id != born.value().id);
  CHECK(reborn.value().uuid == born.value().uuid);
}

TEST_CASE("a start that was interrupted before the identity was complete is repeated", "[actors][data_directory]") {
  scratch_folder d;
  d.write("identity.new", "belay-data-dir");
  d.write("node-id", "x");
  fs::create_directory(d / "lost+found");
  CHECK(open_data_directory(d.path(), "", "dc1").ok());
}

TEST_CASE("a directory with other files in it is rejected and left unchanged", "[actors][data_directory]") {
  // The path was mistyped, or a disk was not mounted: starting there would hide the mistake, or
  // lose data.
  scratch_folder d;
  d.write("thesis.tex", "chapter 1");
  const auto r = open_data_directory(d.path(), "", "dc1");
  REQUIRE_FALSE(r.ok());
  CHECK(contains(r.error(), "thesis.tex"));
  CHECK(contains(r.error(), "Use an empty directory"));
  CHECK(file_text(d / "thesis.tex") == "chapter 1");
  CHECK_FALSE(fs::exists(d / "identity"));
  CHECK_FALSE(fs::exists(d / "node-id"));
}

TEST_CASE("data without its identity is refused", "[actors][data_directory][R8]") {
  // The identity was deleted but log and checkpoint exist. With a new identity the node would vote
  // again with an old log.
  scratch_folder d;
  REQUIRE(open_data_directory(d.path(), "", "dc1").ok());
  fs::create_directory(d / "raft");
  fs::remove(d / "identity");
  const auto r = open_data_directory(d.path(), "", "dc1");
  REQUIRE_FALSE(r.ok());
  CHECK(contains(r.error(), "raft"));
  CHECK(contains(r.error(), "lost its identity"));
}

TEST_CASE("a damaged identity is refused, wherever the damage is", "[actors][data_directory][L6]") {
  // An id other than the one with which it has voted would make two servers out of one.
  scratch_folder d;
  REQUIRE(open_data_directory(d.path(), "", "dc1").ok());
  const auto good = file_text(d / "identity");
  REQUIRE(contains(good, "\nnode_id "));

  const auto refused = [&](const std::string& text) {
    d.write("identity", text);
    const auto r = open_data_directory(d.path(), "", "dc1");
    CAPTURE(text);
    REQUIRE_FALSE(r.ok());
    CHECK(contains(r.error(), d / "identity"));
    CHECK(contains(r.error(), "move the whole data directory away and start with an empty one"));
    CHECK_FALSE(contains(r.error(), "copy")); // docs/operate/operations.md: never restore an older copy
    CHECK(file_text(d / "identity") == text);
  };
  refused("");
  refused(std::string(good.size(), '\0'));
  refused("belay-data-directory 2\n" + good.substr(good.find('\n') + 1));
  const auto checksum_at = good.find("checksum ");
  REQUIRE(checksum_at != std::string::npos);
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes)  // truncated anywhere
    if (bytes + 1 < checksum_at || bytes >= checksum_at + 9) // complete without the checksum
      refused(good.substr(0, bytes));
  for (std::size_t i = 0; i < good.size(); ++i) // any bit: 0 and 8 are hexadecimal digits that differ in one bit
    for (int bit = 0; bit < 8; ++bit) {
      auto text = good;
      text[i] = static_cast<char>(text[i] ^ (1 << bit));
      if (i < checksum_at || i >= checksum_at + 9)
        refused(text);
    }
  const auto id_at = good.find("node_id ") + 8;
  for (std::size_t i = 0; i < 16; ++i) { // an invalid digit
    auto text = good;
    text[id_at + i] = '~';
    refused(text);
  }
  auto extra = good;
  extra.insert(id_at, "0");
  refused(extra);
}

TEST_CASE("an identity without a checksum, from an old version, is read and gets one", "[actors][data_directory][L6]") {
  scratch_folder d;
  const auto born = open_data_directory(d.path(), "", "dc1");
  REQUIRE(born.ok());
  const auto good = file_text(d / "identity");
  d.write("identity", good.substr(0, good.find("checksum ")));
  const auto again = open_data_directory(d.path(), "", "dc1");
  REQUIRE(again.ok());
  CHECK(again.value().id == born.value().id);
  CHECK(file_text(d / "identity") == good);
}

TEST_CASE("a directory of another datacenter or node is refused", "[actors][data_directory]") {
  scratch_folder d;
  const std::string mine = "11111111-2222-4333-8444-555555555555";
  REQUIRE(open_data_directory(d.path(), mine, "dc1").ok());
  const auto elsewhere = open_data_directory(d.path(), "", "dc2");
  REQUIRE_FALSE(elsewhere.ok());
  CHECK(contains(elsewhere.error(), "belongs to datacenter dc1, not dc2"));
  CHECK(contains(elsewhere.error(), "correct the configuration, or use another data_dir"));
  const auto other = open_data_directory(d.path(), "99999999-2222-4333-8444-555555555555", "dc1");
  REQUIRE_FALSE(other.ok());
  CHECK(contains(other.error(), mine));
  CHECK(contains(other.error(), "correct the configuration, or use another data_dir"));
  CHECK(open_data_directory(d.path(), mine, "dc1").ok());
}

TEST_CASE("a path that cannot be a directory is refused", "[actors][data_directory]") {
  scratch_folder d;
  d.write("file", "x");
  const auto r = open_data_directory(d / "file", "", "dc1");
  REQUIRE_FALSE(r.ok());
  CHECK(contains(r.error(), "data_dir"));
  CHECK(contains(r.error(), d / "file"));
  const auto below = open_data_directory(d / "file/below", "", "dc1");
  REQUIRE_FALSE(below.ok());
  CHECK(contains(below.error(), "cannot create data_dir"));
}

TEST_CASE("node IDs are random UUIDs of version 4", "[actors][data_directory]") {
  const auto a = random_uuid();
  const auto b = random_uuid();
  CHECK(a != b);
  for (const auto& u : {a, b}) {
    REQUIRE(u.size() == 36);
    for (auto dash : {8, 13, 18, 23})
      CHECK(u[static_cast<std::size_t>(dash)] == '-');
    CHECK(u[14] == '4');
    CHECK(contains("89ab", std::string(1, u[19])));
  }
}

// Checks may contain passwords: in headers, bodies and commands.
TEST_CASE("the stored registrations of the agent are readable only by its owner", "[actors][data_directory]") {
  scratch_folder d;
  const auto all = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                   fs::perms::others_exec;
  const auto made = d / "new/agent";
  REQUIRE(open_registrations(made).ok());
  CHECK(fs::status(made).permissions() == fs::perms::owner_all);
  const auto old = d / "old";
  fs::create_directory(old);
  fs::permissions(old, all);
  REQUIRE(open_registrations(old).ok());
  CHECK(fs::status(old).permissions() == fs::perms::owner_all);
}

TEST_CASE("an identity that cannot be read is not reported as damage", "[actors][data_directory]") {
  // If the text advised to remove the data, an operator would lose them because of a wrong owner.
  scratch_folder d;
  REQUIRE(open_data_directory(d.path(), "", "dc1").ok());
  fs::remove(d / "identity");
  fs::create_directory(d / "identity"); // unreadable for root, too
  const auto r = open_data_directory(d.path(), "", "dc1");
  REQUIRE_FALSE(r.ok());
  CHECK(contains(r.error(), "cannot read " + (d / "identity")));
  CHECK(contains(r.error(), "give the user of this process access"));
  CHECK_FALSE(contains(r.error(), "damaged:"));
  CHECK_FALSE(contains(r.error(), "move the whole data directory"));
}

TEST_CASE("promises to form a cluster are stored beside the identity", "[actors][data_directory]") {
  scratch_folder d;
  REQUIRE(open_data_directory(d.path(), "", "dc1").ok());
  const auto none = load_promise(d.path());
  REQUIRE(none.ok());
  CHECK(*none == raft::promise{});
  const raft::promise made{3, {{node_id{1}, "u", "n", "a:1"}}, true, {9}};
  REQUIRE(save_promise(d.path(), made).ok());
  CHECK(*load_promise(d.path()) == made);
  CHECK(open_data_directory(d.path(), "", "dc1").ok());
  d.write("formation", "x");
  CHECK_FALSE(load_promise(d.path()).ok());
}

TEST_CASE("a server that belongs to a cluster does not start without its log", "[actors][data_directory][R8]") {
  // The volume with the log is not mounted: the server would vote again, without its past votes.
  raft::restored_state empty;
  CHECK(check_memory(0, empty).ok());
  const auto gone = check_memory(77, empty);
  REQUIRE_FALSE(gone.ok());
  CHECK(contains(gone.error(), "check that everything is mounted"));

  raft::restored_state half; // the checkpoint exists, and the log does not
  half.snapshot.index = log_index{5};
  CHECK_FALSE(check_memory(0, half).ok());
  half.hard.term = term_id{2};
  CHECK(check_memory(77, half).ok());
}
