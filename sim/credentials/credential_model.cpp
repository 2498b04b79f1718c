#include "sim/credentials/credential_model.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

constexpr auto name_of_servers = "server.dc1.consul";

/// @returns why the certificate is rejected; empty: it is accepted
std::string objection_to(const std::optional<ordered_certificate>& shown, const std::set<char>& trusted,
                         std::int64_t now, bool must_be_server) {
  if (!shown)
    return "has no certificate";
  if (!trusted.contains(shown->authority))
    return "has a certificate of another authority";
  if (now < shown->begins)
    return "has a certificate that is not valid yet";
  if (now >= shown->ends)
    return "has a certificate that has expired";
  if (must_be_server && shown->name != name_of_servers)
    return "has a certificate that names " + shown->name;
  return {};
}

} // namespace

expected_admission expect_admission(const credential_facts& dialler, std::int64_t dialler_now,
                                    const credential_facts& accepter, std::int64_t accepter_now, dials_as kind) {
  const bool by_certificate = dialler.verify_outgoing || dialler.verify_server_hostname;
  const bool with_key = !by_certificate && !dialler.encrypt.empty() && dialler.encrypt_verify_outgoing;
  if (!by_certificate && !with_key) {
    const bool taken = !accepter.verify_incoming && (accepter.encrypt.empty() || !accepter.encrypt_verify_incoming);
    return {taken ? "" : "the accepting side demands credentials", false};
  }
  if (with_key && !accepter.verify_incoming &&
      std::find(accepter.encrypt.begin(), accepter.encrypt.end(), dialler.encrypt.front()) != accepter.encrypt.end())
    return {"", true};
  // If the keys differ and both have certificates, the certificates decide.
  if (auto wrong = objection_to(accepter.certificate, dialler.authorities, dialler_now, dialler.verify_server_hostname);
      !wrong.empty())
    return {"the accepting side " + wrong, true};
  if (auto wrong = objection_to(dialler.certificate, accepter.authorities, accepter_now, kind == dials_as::server);
      !wrong.empty())
    return {"the dialling side " + wrong, true};
  return {"", true};
}

} // namespace belay::sim
