// Client commands: requests, texts and exit codes are those of Consul's, for scripts.

#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"

#include "cli/api/api_address.hpp"
#include "cli/commands/keys/kv_transfer.hpp"
#include "cli/output/table.hpp"

#include <catch2/catch.hpp>

using namespace belay::cli;

namespace {

const char* key_with_blank =
    R"([{"LockIndex":2,"Key":"a/b","Flags":42,"Value":"eCB5","CreateIndex":10,"ModifyIndex":12}])";

} // namespace

TEST_CASE("verbs of the key-value store") {
  struct row {
    const char* name;
    arguments words; ///< the address of the node is inserted after the verb
    std::size_t name_words;
    fake_node::answer answer;
    const char* requested;
    int code;
    const char* out;
    const char* err;
  };
  const row rows[] = {
      {"get", {"kv", "get", "a/b"}, 2, {200, key_with_blank}, "GET /v1/kv/a/b", 0, "x y\n", ""},
      {"get escapes",
       {"kv", "get", "/a b?"},
       2,
       {404, ""},
       "GET /v1/kv/a%20b%3F",
       1,
       "",
       "Error! No key exists at: a b?\n"},
      {"get in base64", {"kv", "get", "-base64", "a/b"}, 2, {200, key_with_blank}, "GET /v1/kv/a/b", 0, "eCB5\n", ""},
      {"get detailed",
       {"kv", "get", "-detailed", "a/b"},
       2,
       {200, key_with_blank},
       "GET /v1/kv/a/b",
       0,
       "CreateIndex      10\nFlags            42\nKey              a/b\nLockIndex        2\nModifyIndex      12\n"
       "Session          -\nValue            x y\n",
       ""},
      {"get a tree",
       {"kv", "get", "-recurse", "a/"},
       2,
       {200, key_with_blank},
       "GET /v1/kv/a/?recurse",
       0,
       "a/b:x y\n",
       ""},
      {"get an empty tree", {"kv", "get", "-recurse"}, 2, {404, ""}, "GET /v1/kv/?recurse", 0, "", ""},
      {"get names",
       {"kv", "get", "-keys", "a"},
       2,
       {200, R"(["a/b","a/c/"])"},
       "GET /v1/kv/a?keys&separator=%2F",
       0,
       "a/b\na/c/\n",
       ""},
      {"get names without separator",
       {"kv", "get", "-keys", "-separator=", "a"},
       2,
       {200, "[]"},
       "GET /v1/kv/a?keys",
       0,
       "",
       ""},
      {"get stale elsewhere",
       {"kv", "get", "-stale", "-datacenter=dc2", "a"},
       2,
       {500, "No path to datacenter"},
       "GET /v1/kv/a?dc=dc2&stale",
       1,
       "",
       "Error querying agent: Unexpected response code: 500 (No path to datacenter)\n"},
      {"put", {"kv", "put", "k", "v w"}, 2, {200, "true"}, "PUT /v1/kv/k v w", 0, "Success! Data written to: k\n", ""},
      {"put nothing", {"kv", "put", "k"}, 2, {200, "true"}, "PUT /v1/kv/k", 0, "Success! Data written to: k\n", ""},
      {"put input",
       {"kv", "put", "k", "-"},
       2,
       {200, "true"},
       "PUT /v1/kv/k typed",
       0,
       "Success! Data written to: k\n",
       ""},
      {"put flags",
       {"kv", "put", "-flags", "7", "k", "v"},
       2,
       {200, "true"},
       "PUT /v1/kv/k?flags=7 v",
       0,
       "Success! Data written to: k\n",
       ""},
      {"put base64",
       {"kv", "put", "-base64", "k", "eCB5"},
       2,
       {200, "true"},
       "PUT /v1/kv/k x y",
       0,
       "Success! Data written to: k\n",
       ""},
      {"put if unchanged",
       {"kv", "put", "-cas", "-modify-index=5", "k", "v"},
       2,
       {200, "false"},
       "PUT /v1/kv/k?cas=5 v",
       1,
       "",
       "Error! Did not write to k: CAS failed\n"},
      {"put and lock",
       {"kv", "put", "-acquire", "-session=s", "k", "v"},
       2,
       {200, "true"},
       "PUT /v1/kv/k?acquire=s v",
       0,
       "Success! Lock acquired on: k\n",
       ""},
      {"put and lock in vain",
       {"kv", "put", "-acquire", "-session=s", "k"},
       2,
       {200, "false"},
       "PUT /v1/kv/k?acquire=s",
       1,
       "",
       "Error! Did not acquire lock\n"},
      {"put and unlock",
       {"kv", "put", "-release", "-session=s", "k"},
       2,
       {200, "true"},
       "PUT /v1/kv/k?release=s",
       0,
       "Success! Lock released on: k\n",
       ""},
      {"put refused",
       {"kv", "put", "k", "v"},
       2,
       {500, "No cluster leader"},
       "PUT /v1/kv/k v",
       1,
       "",
       "Error! Failed writing data: Unexpected response code: 500 (No cluster leader)\n"},
      {"delete", {"kv", "delete", "k"}, 2, {200, "true"}, "DELETE /v1/kv/k", 0, "Success! Deleted key: k\n", ""},
      {"delete a tree",
       {"kv", "delete", "-recurse", "a/"},
       2,
       {200, "true"},
       "DELETE /v1/kv/a/?recurse",
       0,
       "Success! Deleted keys with prefix: a/\n",
       ""},
      {"delete if unchanged",
       {"kv", "delete", "-cas", "-modify-index=5", "k"},
       2,
       {200, "false"},
       "DELETE /v1/kv/k?cas=5",
       1,
       "",
       "Error! Did not delete key k: CAS failed\n"},
      {"export",
       {"kv", "export", "a"},
       2,
       {200, key_with_blank},
       "GET /v1/kv/a?recurse",
       0,
       "[\n\t{\n\t\t\"key\": \"a/b\",\n\t\t\"flags\": 42,\n\t\t\"value\": \"eCB5\"\n\t}\n]\n",
       ""},
      {"export nothing", {"kv", "export", "zz"}, 2, {404, ""}, "GET /v1/kv/zz?recurse", 0, "[]\n", ""},
      {"import",
       {"kv", "import", R"([{"Key":"a/b","FLAGS":42,"value":"eCB5"}])"},
       2,
       {200, "true"},
       "PUT /v1/kv/a/b?flags=42 x y",
       0,
       "Imported: a/b\n",
       ""},
      {"add a peer",
       {"operator", "raft", "add-peer", "-address=10.0.0.4:8300"},
       3,
       {200, ""},
       "PUT /v1/operator/raft/peer?address=10.0.0.4%3A8300",
       0,
       "Added peer with address \"10.0.0.4:8300\"\n",
       ""},
      {"add a peer by its id",
       {"operator", "raft", "add-peer", "-id=b31a9000-0000-4000-8000-000000000001"},
       3,
       {200, ""},
       "PUT /v1/operator/raft/peer?id=b31a9000-0000-4000-8000-000000000001",
       0,
       "Added peer with id \"b31a9000-0000-4000-8000-000000000001\"\n",
       ""},
      {"list of peers",
       {"operator", "raft", "list-peers"},
       3,
       {200,
        R"({"Servers":[{"ID":"u1","Node":"s1","Address":"127.0.0.1:8300","Leader":true,"ProtocolVersion":"3","Voter":true}],"Index":0})"},
       "GET /v1/operator/raft/configuration",
       0,
       "Node  ID  Address         State   Voter  RaftProtocol\ns1    u1  127.0.0.1:8300  leader  true   3\n",
       ""},
      {"members",
       {"members"},
       1,
       {200,
        R"([{"Name":"r1","Addr":"127.0.0.1","Port":8301,"Tags":{"role":"consul","dc":"dc1","build":"1.8.7:","vsn":"2","segment":""},"Status":1}])"},
       "GET /v1/agent/members",
       0,
       "Node  Address         Status  Type    Build  Protocol  DC   Segment\n"
       "r1    127.0.0.1:8301  alive   server  1.8.7  2         dc1  <all>\n",
       ""},
      {"info",
       {"info"},
       1,
       {200, R"({"Stats":{"raft":{"term":"2","state":"Leader"},"consul":{"leader":"true"}}})"},
       "GET /v1/agent/self",
       0,
       "consul:\n\tleader = true\nraft:\n\tstate = Leader\n\tterm = 2\n",
       ""},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    fake_node node({r.answer});
    auto words = r.words;
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(r.name_words), "-http-addr=" + node.address());
    auto e = run_cli(words, "typed");
    CHECK(e.code == r.code);
    CHECK(e.out == r.out);
    CHECK(e.err == r.err);
    CHECK(node.requested() == std::vector<std::string>{r.requested});
  }
}

TEST_CASE("verbs that are rejected before any request") {
  struct row {
    arguments words;
    const char* complaint;
  };
  const row rows[] = {
      {{"kv", "get"}, "Error! Missing KEY argument\n"},
      {{"kv", "get", "a", "b"}, "Too many arguments (expected 1, got 2)\n"},
      {{"kv", "put"}, "Error! Missing KEY argument\n"},
      {{"kv", "put", "-cas", "k", "v"}, "Must specify -modify-index with -cas!\n"},
      {{"kv", "put", "-acquire", "k"}, "Error! Missing -session (required with -acquire and -release)\n"},
      {{"kv", "put", "/lead", "v"}, "Error! Failed writing data: Invalid key. Key must not begin with a '/': /lead\n"},
      {{"kv", "put", "-base64", "k", "!"}, "Error! Cannot base 64 decode data: illegal base64 data at input byte 0\n"},
      {{"kv", "delete"}, "Error! Missing KEY argument\n"},
      {{"kv", "delete", "-cas", "k"}, "Must specify -modify-index with -cas!\n"},
      {{"kv", "delete", "-modify-index=3", "k"}, "Cannot specify -modify-index without -cas!\n"},
      {{"kv", "delete", "-cas", "-recurse", "k"}, "Cannot specify both -cas and -recurse!\n"},
      {{"kv", "import", R"([{"key":"bad","value":"!"}])"},
       "Error base 64 decoding value for key bad: illegal base64 data at input byte 0\n"},
      {{"kv", "import"}, "Error! Missing DATA argument\n"},
      {{"operator", "raft", "add-peer", "-id=a", "-address=b:1"},
       "Error adding peer: cannot give both an address and id\n"},
      {{"operator", "raft", "add-peer"},
       "An address or id is required for the peer to add: -address=HOST:PORT, the address that it "
       "advertises to peers\n"},
      {{"validate"}, "Must specify at least one config file or directory\n"},
      {{"kv", "get", "-http-addr=https://127.0.0.1:1", "-ca-file=/nonexistent/ca.pem", "k"},
       "Error connecting to the agent: ca_file: open /nonexistent/ca.pem: no such file or directory\n"},
      {{"kv", "get", "-http-addr=https://127.0.0.1:1", "-client-cert=c.pem", "k"},
       "Error connecting to the agent: a client certificate is set without a client key: set "
       "-client-key or CONSUL_CLIENT_KEY\n"},
  };
  for (const auto& r : rows) {
    auto e = run_cli(r.words);
    CHECK(e.err == r.complaint);
    CHECK(e.code == 1);
    CHECK(e.out.empty());
  }
  CHECK(run_cli({"kv", "import", "{bad"}).err.starts_with("Cannot unmarshal data: "));
  CHECK(run_cli({"kv", "get", "-bogus", "k"}).err.starts_with("flag provided but not defined: -bogus\n"));
  CHECK(run_cli({"agent", "-bogus"}).err.starts_with("flag provided but not defined: -bogus\n"));
  CHECK(run_cli({"agent", "-server"}).err == "==> data_dir cannot be empty\n");
}

TEST_CASE("names of verbs") {
  CHECK(run_cli({}).code == 127);
  CHECK(run_cli({"bogus"}).code == 127);
  CHECK(run_cli({"kv"}).code == 1);
  CHECK(run_cli({"kv"}).err.find("kv export") != std::string::npos);
  CHECK(run_cli({"kv", "bogus"}).code == 1);
  CHECK(run_cli({"operator", "raft"}).code == 1);
  CHECK(run_cli({"help"}).code == 0);
  CHECK(run_cli({"kv", "-h"}).code == 0);
  CHECK(run_cli({"kv", "get", "-h"}).code == 0);
  CHECK(run_cli({"agent", "-h"}).code == 0);
  auto v = run_cli({"version"});
  CHECK(v.code == 0);
  CHECK(v.out.starts_with("Belay v"));
  CHECK(v.out.find("\nCompatible with the Consul 1.8.7 API\n") != std::string::npos);
}

// Test harnesses and tools that find `consul` in PATH parse `Consul v1.8.7`.
TEST_CASE("under the name consul the version is the one that it is compatible with") {
  const auto first_line = [](std::string_view called, const char* word) {
    std::istringstream in;
    std::ostringstream out, err;
    CHECK(run({word}, {in, out, err, false, called}) == 0);
    CHECK(out.str().find("Belay v") != std::string::npos);
    return out.str().substr(0, out.str().find('\n'));
  };
  for (const auto* word : {"version", "-v", "-version", "--version"}) {
    INFO(word);
    CHECK(first_line("consul", word) == "Consul v1.8.7");
    CHECK(first_line("/opt/consul/bin/consul", word) == "Consul v1.8.7");
    for (const auto* other : {"belay", "/opt/consul/belay", "./not-consul", ""})
      CHECK(first_line(other, word).starts_with("Belay v"));
  }
}

TEST_CASE("a token is sent with the request, and a missing server is an error") {
  std::string address;
  {
    fake_node node({{200, key_with_blank}});
    address = node.address();
    CHECK(run_cli({"kv", "get", "-http-addr", "http://" + address, "-token", "secret", "k"}).code == 0);
    node.requested();
    CHECK(node.token == "secret");
  }
  auto e = run_cli({"kv", "get", "-http-addr=" + address, "k"});
  CHECK(e.code == 1);
  CHECK(e.err.find("Connection refused") != std::string::npos);
}

TEST_CASE("addresses of the API") {
  struct row {
    const char* text;
    const char* host;
    const char* port;
    const char* unix_path;
  };
  const row rows[] = {
      {"127.0.0.1:8501", "127.0.0.1", "8501", ""},
      {"node", "node", "8500", ""},
      {"http://node:1/", "node", "1", ""},
      {"[::1]:2", "::1", "2", ""},
      {"::1", "::1", "8500", ""},
      {"[::1]", "::1", "8500", ""},
      {":3", "127.0.0.1", "3", ""},
      {"unix:///run/b.sock", "", "", "/run/b.sock"},
  };
  for (const auto& r : rows) {
    INFO(r.text);
    auto a = parse_api_address(r.text);
    REQUIRE(a);
    CHECK(a->host == r.host);
    CHECK(a->port == r.port);
    CHECK(a->unix_path == r.unix_path);
  }
  CHECK_FALSE(parse_api_address("ftp://x"));
}

TEST_CASE("exported keys can be imported") {
  const std::vector<exported_key> keys = {{"a<&>", 0, ""},
                                          {"b \"q\" \xC3\xA9", 18446744073709551615u, std::string("\0\xFF\n", 3)}};
  auto text = write_export(keys);
  CHECK(text.find("\"value\": \"\"") != std::string::npos);
  CHECK(text.find("a\\u003c\\u0026\\u003e") != std::string::npos);
  auto back = read_export(text);
  REQUIRE(back);
  CHECK(*back == keys);
  CHECK(read_export("[]")->empty());
  CHECK(read_export(R"([{"key":"k","flags":-1}])").error().starts_with("Cannot unmarshal data: "));
}

TEST_CASE("columns") {
  CHECK(table({{"a", "bb"}, {"ccc", "d"}}) == "a    bb\nccc  d\n");
  CHECK(table({}).empty());
}
