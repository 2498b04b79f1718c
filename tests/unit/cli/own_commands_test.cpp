// Commands that Consul does not have (session, txn, snapshot agent), -format=json, archives.

#include "cli/output/tar_file.hpp"
#include "cli/snapshots/snapshot_file.hpp"
#include "protocol/archive/snapshot_archive.hpp"
#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

using namespace belay::cli;

namespace {

constexpr auto one_session =
    R"([{"ID":"5e0","Name":"backup","Node":"n1","LockDelay":15000000000,"Behavior":"release","TTL":"30s","NodeChecks":[],"ServiceChecks":null,"CreateIndex":7,"ModifyIndex":7}])";
constexpr auto listed_key =
    R"([{"LockIndex":2,"Key":"a/b","Flags":42,"Value":"eCB5","CreateIndex":10,"ModifyIndex":12}])";

std::string archive_bytes() {
  belay::archive::archive_writer w({belay::log_index{7}, belay::term_id{2}, 1'700'000'000'000, {}, 5});
  std::string out;
  w.begin(out);
  w.add("state", out);
  w.finish(out);
  return out;
}

} // namespace

TEST_CASE("commands of our own, and JSON", "[commands]") {
  struct row {
    const char* name;
    arguments words; ///< the address of the node is inserted after the command's name
    std::size_t name_words;
    fake_node::answer answer;
    const char* requested;
    int code;
    const char* out;
    const char* err;
  };
  const row rows[] = {
      {"a session with a TTL has no checks",
       {"session", "create", "-ttl=30s", "-name=backup"},
       2,
       {200, R"({"ID":"5e0"})"},
       R"(PUT /v1/session/create {"Name":"backup","TTL":"30s","NodeChecks":[]})",
       0,
       "5e0\n",
       ""},
      {"a session of a node",
       {"session", "create", "-node=n1", "-lock-delay=1s", "-behavior=delete"},
       2,
       {200, R"({"ID":"5e0"})"},
       R"(PUT /v1/session/create {"Node":"n1","LockDelay":"1s","Behavior":"delete"})",
       0,
       "5e0\n",
       ""},
      {"sessions",
       {"session", "list"},
       2,
       {200, one_session},
       "GET /v1/session/list",
       0,
       "ID   Node  TTL  LockDelay  Behavior  Name\n5e0  n1    30s  15s        release   backup\n",
       ""},
      {"no sessions", {"session", "list", "-node=n 2"}, 2, {200, "[]"}, "GET /v1/session/node/n%202", 0, "", ""},
      {"a session",
       {"session", "info", "5e0"},
       2,
       {200, one_session},
       "GET /v1/session/info/5e0",
       0,
       "ID               5e0\nName             backup\nNode             n1\nTTL              30s\nBehavior         "
       "release\n"
       "CreateIndex      7\nModifyIndex      7\nLockDelay        15s\nNodeChecks       -\n",
       ""},
      {"no session",
       {"session", "info", "5e0"},
       2,
       {200, "[]"},
       "GET /v1/session/info/5e0",
       1,
       "",
       "Error! No session exists with ID: 5e0\n"},
      {"renewed",
       {"session", "renew", "5e0"},
       2,
       {200, one_session, {{"X-Belay-Session-Ttl-Ms", "60000"}}},
       "PUT /v1/session/renew/5e0",
       0,
       "Session renewed: 5e0 (1m0s left)\n",
       ""},
      {"not renewed",
       {"session", "renew", "5e0"},
       2,
       {404, "Session id '5e0' not found"},
       "PUT /v1/session/renew/5e0",
       1,
       "",
       "Error renewing session: Unexpected response code: 404 (Session id '5e0' not found)\n"},
      {"destroyed",
       {"session", "destroy", "5e0"},
       2,
       {200, "true"},
       "PUT /v1/session/destroy/5e0",
       0,
       "Session destroyed: 5e0\n",
       ""},
      {"a transaction",
       {"txn", R"([{"KV":{"Verb":"set","Key":"a"}}])"},
       1,
       {200,
        R"({"Results":[{"KV":{"LockIndex":0,"Key":"a","Flags":0,"Value":null,"CreateIndex":1,"ModifyIndex":9}}],"Errors":null})"},
       R"(PUT /v1/txn [{"KV":{"Verb":"set","Key":"a"}}])",
       0,
       "KV a (ModifyIndex 9)\nSuccess! The transaction took effect\n",
       ""},
      {"a transaction that fails",
       {"txn", "[]"},
       1,
       {409, R"({"Results":null,"Errors":[{"OpIndex":1,"What":"key \"a\" exists"}]})"},
       "PUT /v1/txn []",
       1,
       "",
       "Error! The transaction was rejected and changed nothing:\n  operation 1: key \"a\" exists\n"},
      {"a key as JSON",
       {"kv", "get", "-format=json", "a/b"},
       2,
       {200, listed_key},
       "GET /v1/kv/a/b",
       0,
       "{\n    \"LockIndex\": 2,\n    \"Key\": \"a/b\",\n    \"Flags\": 42,\n    \"Value\": \"eCB5\",\n    "
       "\"CreateIndex\": 10,\n"
       "    \"ModifyIndex\": 12\n}\n",
       ""},
      {"a write as JSON",
       {"kv", "put", "-format=json", "k", "v"},
       2,
       {200, "true"},
       "PUT /v1/kv/k v",
       0,
       "{\n    \"Success\": true,\n    \"Key\": \"k\"\n}\n",
       ""},
      {"names as JSON",
       {"kv", "get", "-keys", "-format=json", "zz"},
       2,
       {404, ""},
       "GET /v1/kv/zz?keys&separator=%2F",
       0,
       "[]\n",
       ""},
      {"maintenance as JSON",
       {"maint", "-enable", "-reason=why", "-format=json"},
       1,
       {200, ""},
       "PUT /v1/agent/maintenance?enable=true&reason=why",
       0,
       "{\n    \"Success\": true,\n    \"Maintenance\": true\n}\n",
       ""},
      {"an event as JSON",
       {"event", "-name=deploy", "-format=json", "x"},
       1,
       {200, R"({"ID":"1","Name":"deploy"})"},
       "PUT /v1/event/fire/deploy x",
       0,
       "{\n    \"ID\": \"1\",\n    \"Name\": \"deploy\"\n}\n",
       ""},
      {"a set of services is registered as it is",
       {"services", "register", "-name=web", "-port=80", "-tag=a", "-meta=k=v=w", "-tagged-address=lan=10.0.0.1:81"},
       2,
       {200, ""},
       R"(PUT /v1/agent/service/register {"Name":"web","Port":80,"Tags":["a"],"Meta":{"k":"v=w"},"TaggedAddresses":{"lan":{"Address":"10.0.0.1","Port":81}}})",
       0,
       "Registered service: web\n",
       ""},
      {"a monitor prints what comes",
       {"monitor", "-log-level=debug"},
       1,
       {200, "one\ntwo\n"},
       "GET /v1/agent/monitor?loglevel=debug",
       1,
       "one\ntwo\n\nRemote side ended the monitor! This usually means that the\nremote side crashed or the requested "
       "log level was "
       "invalid.\n",
       ""},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    fake_node node({r.answer});
    auto words = r.words;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(r.name_words), "-http-addr=" + node.address());
    const auto s = run_cli(words);
    CHECK(s.code == r.code);
    CHECK(s.out == r.out);
    CHECK(s.err == r.err);
    CHECK(node.requested() == std::vector<std::string>{r.requested});
  }
}

TEST_CASE("snapshots: saved whole or not at all", "[commands]") {
  const working_directory here;
  const auto bytes = archive_bytes();
  {
    fake_node node({{200, bytes, {{"X-Consul-Index", "9"}}}});
    const auto s = run_cli({"snapshot", "save", "-http-addr=" + node.address(), "a.snap"});
    CHECK(s.err == "");
    CHECK(s.code == 0);
    CHECK(s.out == "Saved and verified snapshot to index 9\n");
  }
  struct stat st {};
  REQUIRE(::stat("a.snap", &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
  CHECK(run_cli({"snapshot", "inspect", "a.snap"}).out ==
        "ID           2-7-1700000000000\nSize         5\nIndex        7\nTerm         2\nVersion      1\n\n");
  {
    fake_node node({{200, bytes.substr(0, bytes.size() - 20)}});
    const auto s = run_cli({"snapshot", "save", "-http-addr=" + node.address(), "b.snap"});
    CHECK(s.code == 1);
    CHECK(s.err.starts_with("Error verifying snapshot file: Error verifying snapshot: failed to read snapshot file: "));
  }
  {
    fake_node node({{500, "No cluster leader"}});
    CHECK(run_cli({"snapshot", "save", "-http-addr=" + node.address(), "b.snap"}).err ==
          "Error saving snapshot: Unexpected response code: 500 (No cluster leader)\n");
  }
  {
    fake_node node({{200, ""}});
    CHECK(run_cli({"snapshot", "restore", "-http-addr=" + node.address(), "a.snap"}).out == "Restored snapshot\n");
    CHECK(node.requested() == std::vector<std::string>{"PUT /v1/snapshot " + bytes});
  }
  std::size_t files = 0;
  for (const auto& one : std::filesystem::directory_iterator(here.path()))
    files += one.path().filename() == "a.snap" ? 1 : 100;
  CHECK(files == 1); // no partial file is left
}

TEST_CASE("snapshot agent: saves once, and keeps the last ones", "[commands]") {
  const working_directory here;
  std::filesystem::create_directory("keep");
  for (const auto* name : {"keep/belay-1000000000001.snap", "keep/belay-1000000000002.snap", "keep/other.snap"})
    std::ofstream(name) << "x";
  fake_node node({{200, archive_bytes()}});
  const auto s =
      run_cli({"snapshot", "agent", "-http-addr=" + node.address(), "-interval=0", "-retain=2", "-local-path=keep"});
  CHECK(s.err == "");
  CHECK(s.code == 0);
  CHECK_FALSE(std::filesystem::exists("keep/belay-1000000000001.snap"));
  CHECK(std::filesystem::exists("keep/belay-1000000000002.snap"));
  CHECK(std::filesystem::exists("keep/other.snap"));
  CHECK(run_cli({"snapshot", "agent", "-local-path=nowhere"}).err ==
        "Error opening the folder of snapshots: open nowhere: no such file or directory\n");
}

// A clock that was years ahead was corrected: each new file was removed as the oldest one.
TEST_CASE("snapshot agent: keeps what it has saved, although the clock went back", "[commands]") {
  const working_directory here;
  std::filesystem::create_directory("keep");
  for (const auto* name : {"keep/belay-9000000000008.snap", "keep/belay-9000000000009.snap",
                           "keep/belay-99999999999999999999.snap", "keep/belay-.snap", "keep/belay--7.snap"})
    std::ofstream(name) << "x";
  fake_node node({{200, archive_bytes()}});
  const auto s =
      run_cli({"snapshot", "agent", "-http-addr=" + node.address(), "-interval=0", "-retain=2", "-local-path=keep"});
  CHECK(s.err == "");
  CHECK(s.code == 0);
  CHECK_FALSE(std::filesystem::exists("keep/belay-9000000000008.snap"));
  CHECK(std::filesystem::exists("keep/belay-9000000000009.snap"));
  CHECK(std::filesystem::file_size("keep/belay-9000000000010.snap") == archive_bytes().size());
  for (const auto* other : {"keep/belay-99999999999999999999.snap", "keep/belay-.snap", "keep/belay--7.snap"})
    CHECK(std::filesystem::exists(other));
}

namespace {

std::filesystem::perms permissions_of(const std::string& path) {
  return std::filesystem::status(path).permissions() & std::filesystem::perms::mask;
}
constexpr auto mine_alone = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

} // namespace

// Files are packed in pieces of 1 MiB: one of exactly that size, a larger one, an empty one.
TEST_CASE("archives of debug are read by tar", "[commands]") {
  const working_directory here;
  std::filesystem::create_directories("d/1");
  const std::pair<const char*, std::size_t> sizes[] = {
      {"d/a", 4}, {"d/b", 600}, {"d/empty", 0}, {"d/1/log", 3'500'000}, {"d/1/piece", 1 << 20}};
  for (const auto& [name, size] : sizes) {
    std::ofstream out(name);
    for (std::size_t i = 0; i < size; ++i)
      out << static_cast<char>('a' + (i * 7 + i / 1000) % 26);
  }
  std::ofstream("d.tar.gz") << "what was there before";
  const auto packed = pack_folder("d", "d.tar.gz", 1'700'000'000);
  INFO((packed ? "" : packed.error()));
  REQUIRE(packed);
  CHECK(permissions_of("d.tar.gz") == mine_alone);
  std::filesystem::rename("d", "before");
  CHECK(std::system("tar xzf d.tar.gz && diff -r d before") == 0);
  CHECK(permissions_of("d/1/log") == mine_alone);
  std::size_t files = 0;
  for (const auto& one : std::filesystem::directory_iterator(here.path()))
    files += one.is_regular_file() ? 1 : 0;
  CHECK(files == 1); // no partial file is left

  std::ofstream("d/" + std::string(100, 'x')) << "x";
  CHECK(pack_folder("d", "e.tar.gz", 0).error().starts_with("the name is too long for an archive: d/xxx"));
  CHECK_FALSE(std::filesystem::exists("e.tar.gz"));
  CHECK(pack_folder("d", "nowhere/e.tar.gz", 0).error().ends_with("no such file or directory"));
}

// A server that accepts connections and never responds: each request waited forever.
TEST_CASE("debug ends when its duration is over, whatever the server does", "[commands]") {
  const working_directory here;
  fake_node node({{200, R"({"Config":{"Version":"1.8.7"}})"}});
  const auto begun = std::chrono::steady_clock::now();
  const auto s = run_cli({"debug", "-capture=host", "-capture=metrics", "-capture=logs", "-duration=10s",
                          "-interval=5s", "-output=d", "-http-addr=" + node.address()});
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(3 * 10));
  CHECK(s.code == 0);
  CHECK(s.err.starts_with("[WARN] Unable to capture host.json: GET http://"));
  CHECK(s.out.ends_with("    Saved debug archive: d.tar.gz\n"));
}

// As in Consul: a token file that cannot be read must not mean "no token".
TEST_CASE("a token file that cannot be read ends the command with the reason", "[commands]") {
  const working_directory here;
  std::filesystem::create_directory("d");
  std::ofstream("token") << "\n  secret \r\nmore\n";
  std::ofstream("empty") << "\n";
  const auto with = [](const std::string& file) {
    return run_cli({"kv", "get", "-http-addr=127.0.0.1:1", "-token-file=" + file, "k"}).err;
  };
  CHECK(with("nofile") ==
        "Error connecting to the agent: Error loading token file: open nofile: no such file or directory\n");
  CHECK(with("d") == "Error connecting to the agent: Error loading token file: read d: is a directory\n");
  for (const auto& [file, sent] : {std::pair<std::string, std::string>{"token", "secret"}, {"empty", ""}}) {
    fake_node node({{404, ""}});
    CHECK(run_cli({"kv", "get", "-http-addr=" + node.address(), "-token-file=" + file, "k"}).err ==
          "Error! No key exists at: k\n");
    node.requested();
    CHECK(node.token == sent);
  }
}

TEST_CASE("a process ID file that cannot be written is named with the reason", "[commands]") {
  const working_directory here;
  CHECK(run_cli({"agent", "-dev", "-pid-file=nowhere/pid"})
            .err.ends_with("Could not open pid file: open nowhere/pid: no such file or directory\n"));
}

// As in Consul: files go into a new folder, and a complete archive replaces the old one.
TEST_CASE("debug overwrites no folder, and its output is readable only by its owner", "[commands]") {
  const working_directory here;
  const fake_node::answer self = {200, R"({"Config":{"Version":"1.8.7"}})"};
  std::filesystem::create_directory("there");
  std::ofstream("file") << "x";
  for (const std::string path : {"there", "there/", "file", "file/below"}) {
    fake_node node({self});
    const auto s = run_cli({"debug", "-capture=agent", "-output=" + path, "-http-addr=" + node.address()});
    CHECK(s.code == 1);
    CHECK(s.err.starts_with("==> Capture validation failed: output directory already exists: "));
  }
  CHECK(std::filesystem::is_empty("there"));

  std::ofstream("a.tar.gz") << "an older one";
  {
    fake_node node({self});
    const auto s = run_cli({"debug", "-capture=agent", "-output=a", "-http-addr=" + node.address()});
    CHECK(s.err == "");
    CHECK(s.code == 0);
    CHECK(s.out.ends_with("    Saved debug archive: a.tar.gz\n"));
  }
  CHECK(permissions_of("a.tar.gz") == mine_alone);
  CHECK_FALSE(std::filesystem::exists("a"));
  CHECK(std::system("tar xzf a.tar.gz && test -s a/agent.json && test -s a/index.json") == 0);

  fake_node node({self});
  CHECK(run_cli({"debug", "-capture=agent", "-archive=false", "-output=b/c", "-http-addr=" + node.address()}).code ==
        0);
  CHECK(permissions_of("b/c") == std::filesystem::perms::owner_all);
  CHECK(permissions_of("b/c/agent.json") == mine_alone);
}

// Added to the time of the machine, this timeout overflowed: it had passed before the request.
TEST_CASE("counter: the longest timeout is none", "[cli]") {
  fake_node node({{200, R"([{"LockIndex":0,"Key":"n","Flags":0,"Value":"Nw==","CreateIndex":5,"ModifyIndex":5}])"}});
  const auto s = run_cli({"counter", "get", "-timeout=2562047h", "-http-addr=" + node.address(), "n"});
  CHECK(s.err == "");
  CHECK(s.out == "7\n");
}
