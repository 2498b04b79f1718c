// `belay keygen` and `belay tls`: files, texts and exit codes as scripts for Consul expect them,
// and certificates that servers accept.

#include "actors/tls/credentials.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace belay;
using namespace belay::cli;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return st.st_mode & 0777;
}

tls::credential_settings files_of(const std::string& name) {
  tls::credential_settings s;
  s.ca_file = "consul-agent-ca.pem";
  s.cert_file = name + ".pem";
  s.key_file = name + "-key.pem";
  s.verify_incoming = s.verify_server_hostname = true;
  return s;
}

} // namespace

TEST_CASE("keygen prints a key for `encrypt`", "[cli][tls]") {
  const auto one = run_cli({"keygen"}), two = run_cli({"keygen"});
  CHECK(one.code == 0);
  CHECK(one.out.size() == 45);
  CHECK(one.out != two.out);
  CHECK(tls::derive_peer_key(one.out.substr(0, 44)).ok());
}

TEST_CASE("a CA and certificates of servers, clients and the command line", "[cli][tls]") {
  working_directory here;
  const auto ca = run_cli({"tls", "ca", "create"});
  CHECK(ca.code == 0);
  CHECK(ca.out == "==> Saved consul-agent-ca.pem\n==> Saved consul-agent-ca-key.pem\n");
  CHECK(mode_of("consul-agent-ca-key.pem") == 0600);
  CHECK((mode_of("consul-agent-ca.pem") & 0400) != 0);

  const auto again = run_cli({"tls", "ca", "create"});
  CHECK(again.code == 1);
  CHECK(again.err == "consul-agent-ca.pem already exists.\n");

  const auto server = run_cli({"tls", "cert", "create", "-server", "-additional-dnsname=a.example",
                               "-additional-dnsname", "b.example", "-additional-ipaddress=10.0.0.1"});
  CHECK(server.code == 0);
  CHECK(server.err == "");
  CHECK(server.out == "==> WARNING: Server Certificates grants authority to become a\n"
                      "    server and access all state in the cluster including root keys\n"
                      "    and all ACL tokens. Do not distribute them to production hosts\n"
                      "    that are not server nodes. Store them as securely as CA keys.\n"
                      "==> Using consul-agent-ca.pem and consul-agent-ca-key.pem\n"
                      "==> Saved dc1-server-consul-0.pem\n"
                      "==> Saved dc1-server-consul-0-key.pem\n");
  CHECK(mode_of("dc1-server-consul-0-key.pem") == 0600);
  CHECK(tls::credentials::load(files_of("dc1-server-consul-0")).ok());

  CHECK(run_cli({"tls", "cert", "create", "-server"}).out.find("==> Saved dc1-server-consul-1.pem\n") !=
        std::string::npos);
  CHECK(run_cli({"tls", "cert", "create", "-client", "-dc", "east"}).out ==
        "==> Using consul-agent-ca.pem and consul-agent-ca-key.pem\n"
        "==> Saved east-client-consul-0.pem\n==> Saved east-client-consul-0-key.pem\n");
  CHECK(run_cli({"tls", "cert", "create", "-cli"}).out ==
        "==> Using consul-agent-ca.pem and consul-agent-ca-key.pem\n"
        "==> Saved dc1-cli-consul-0.pem\n==> Saved dc1-cli-consul-0-key.pem\n");
}

TEST_CASE("a custom domain names the files, too", "[cli][tls]") {
  working_directory here;
  CHECK(run_cli({"tls", "ca", "create", "-domain=belay", "-days", "10", "-name-constraint"}).code == 0);
  const auto made = run_cli({"tls", "cert", "create", "-server", "-domain", "belay", "-days", "5"});
  CHECK(made.code == 0);
  CHECK(made.out.find("==> Using belay-agent-ca.pem and belay-agent-ca-key.pem\n"
                      "==> Saved dc1-server-belay-0.pem\n") != std::string::npos);
}

TEST_CASE("impossible operations are reported, and nothing is written", "[cli][tls]") {
  working_directory here;
  struct row {
    arguments words;
    std::string err;
  };
  for (const auto& r : {
           row{{"tls", "cert", "create"}, "Please provide either -server, -client, or -cli\n"},
           row{{"tls", "cert", "create", "-server", "-cli"}, "Please provide either -server, -client, or -cli\n"},
           row{{"tls", "cert", "create", "-server"},
               "Error reading CA: open consul-agent-ca.pem: no such file or directory\n"},
           row{{"tls", "ca", "create", "-days=0"}, "-days must be from 1 to 36500\n"},
           row{{"tls", "ca", "create", "-domain=../x/y"}, "not a domain: ../x/y\n"},
       }) {
    const auto s = run_cli(r.words);
    CHECK(s.code == 1);
    CHECK(s.err == r.err);
  }
  CHECK(std::filesystem::is_empty(std::filesystem::current_path()));
  REQUIRE(run_cli({"tls", "ca", "create"}).code == 0);
  CHECK(run_cli({"tls", "cert", "create", "-server", "-additional-ipaddress=x"}).err == "not an IP address: x\n");
  CHECK(run_cli({"tls", "cert", "create", "-server", "-additional-dnsname=x,IP:1.1.1.1"}).err ==
        "not a DNS name: x,IP:1.1.1.1\n");
  std::ofstream("consul-agent-ca-key.pem", std::ios::trunc) << "nothing";
  CHECK(run_cli({"tls", "cert", "create", "-server"}).code == 1);
  CHECK_FALSE(std::filesystem::exists("dc1-server-consul-0.pem"));
}
