#include "cli/api/api_tls.hpp"

#include "actors/tls/context_files.hpp"

namespace belay::cli {

namespace ssl = boost::asio::ssl;

result<std::shared_ptr<ssl::context>> load_api_tls(const api_tls_settings& s) {
  auto t = std::make_shared<ssl::context>(ssl::context::tls_client);
  boost::system::error_code ignored; // then the handshake fails: no server is trusted
  if (s.ca_file.empty() && s.ca_path.empty())
    t->set_default_verify_paths(ignored);
  else if (auto ok = tls::trust_authorities(t->native_handle(), s.ca_file, s.ca_path); !ok)
    return ok.reason();
  if (s.cert_file.empty() != s.key_file.empty())
    return failure{s.cert_file.empty()
                       ? "a client key is set without a client certificate: set -client-cert or CONSUL_CLIENT_CERT"
                       : "a client certificate is set without a client key: set -client-key or CONSUL_CLIENT_KEY"};
  if (!s.cert_file.empty())
    if (auto ok = tls::show_certificate(t->native_handle(), s.cert_file, s.key_file); !ok)
      return ok.reason();
  t->set_verify_mode(s.verify ? ssl::verify_peer : ssl::verify_none, ignored);
  return t;
}

} // namespace belay::cli
