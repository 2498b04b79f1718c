// Client commands over HTTPS: trusted servers, certificates, and the options and variables.

#include "tests/unit/actors/tls/certificate_files.hpp"
#include "tests/unit/cli/fake_node.hpp"
#include "tests/unit/cli/output_texts.hpp"
#include "tests/unit/cli/variables.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::cli;

namespace {

std::unique_ptr<boost::asio::ssl::context> showing(const tls::credential_settings& files, bool asks) {
  namespace ssl = boost::asio::ssl;
  auto c = std::make_unique<ssl::context>(ssl::context::tls_server);
  c->use_certificate_chain_file(files.cert_file);
  c->use_private_key_file(files.key_file, ssl::context::pem);
  c->load_verify_file(files.ca_file);
  c->set_verify_mode(asks ? ssl::verify_peer | ssl::verify_fail_if_no_peer_cert : ssl::verify_none);
  return c;
}

} // namespace

TEST_CASE("verbs over HTTPS: which servers are trusted, and what is presented", "[https]") {
  tls::certificate_files folder;
  const auto ca = tls::authority_named("ca"), other = tls::authority_named("other");
  const auto server = folder.signed_by(ca, "server"), client = folder.signed_by(ca, "client");
  const auto other_ca = folder.signed_by(other, "stranger");
  struct row {
    const char* name;
    bool asks;         ///< whether the node requests a certificate
    arguments options; ///< after the address
    std::vector<std::pair<std::string, std::string>> environment;
    bool works;
  };
  const row rows[] = {
      {"trusted", false, {"-ca-file=" + server.ca_file}, {}, true},
      {"trusted by the variable", false, {}, {{"CONSUL_CACERT", server.ca_file}}, true},
      {"an option goes before a variable",
       false,
       {"-ca-file=" + server.ca_file},
       {{"CONSUL_CACERT", other_ca.ca_file}},
       true},
      {"nobody says whom to trust", false, {}, {}, false},
      {"another authority", false, {"-ca-file=" + other_ca.ca_file}, {}, false},
      {"any will do", false, {}, {{"CONSUL_HTTP_SSL_VERIFY", "false"}}, true},
      {"another name", false, {"-ca-file=" + server.ca_file, "-tls-server-name=elsewhere"}, {}, false},
      {"that name", false, {"-ca-file=" + server.ca_file, "-tls-server-name=server.dc1.consul"}, {}, true},
      {"a certificate is wanted", true, {"-ca-file=" + server.ca_file}, {}, false},
      {"a certificate is shown",
       true,
       {"-ca-file=" + server.ca_file, "-client-cert=" + client.cert_file, "-client-key=" + client.key_file},
       {},
       true},
      {"by variables",
       true,
       {},
       {{"CONSUL_CACERT", server.ca_file},
        {"CONSUL_CLIENT_CERT", client.cert_file},
        {"CONSUL_CLIENT_KEY", client.key_file}},
       true},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    const variables set(r.environment);
    fake_node node({{200, "[\"127.0.0.1:8300\"]"}}, showing(server, r.asks));
    arguments words = {"kv", "delete", "-http-addr=https://" + node.address()};
    words.insert(words.end(), r.options.begin(), r.options.end());
    words.push_back("k");
    const auto e = run_cli(words);
    CHECK((e.code == 0) == r.works);
    CHECK(node.requested().size() == (r.works ? 1u : 0u));
  }
}

TEST_CASE("verbs over HTTPS: a variable turns it on", "[https]") {
  tls::certificate_files folder;
  const auto server = folder.signed_by(tls::authority_named("ca"), "server");
  fake_node node({{200, "true"}}, showing(server, false));
  const variables set(
      {{"CONSUL_HTTP_SSL", "true"}, {"CONSUL_HTTP_ADDR", node.address()}, {"CONSUL_CACERT", server.ca_file}});
  CHECK(run_cli({"kv", "delete", "k"}).code == 0);
  CHECK(node.requested() == std::vector<std::string>{"DELETE /v1/kv/k"});
}
