#include "cli/http/api_tls.hpp"

#include "actors/tls/context_files.hpp"

namespace belay::cli {

result<std::shared_ptr<api_tls>> load_api_tls(const api_tls_settings& s) {
  auto t = std::make_shared<api_tls>();
  t->settings = s;
  auto* const context = t->context.native_handle();
  boost::system::error_code ignored; // none there: then nobody is trusted, which the handshake tells
  if (s.ca_file.empty() && s.ca_path.empty())
    t->context.set_default_verify_paths(ignored);
  else if (auto ok = tls::trust_authorities(context, s.ca_file, s.ca_path); !ok)
    return ok.why();
  if (s.cert_file.empty() != s.key_file.empty())
    return failure{s.cert_file.empty() ? "a client key is set, and no client certificate"
                                       : "a client certificate is set, and no client key"};
  if (!s.cert_file.empty())
    if (auto ok = tls::show_certificate(context, s.cert_file, s.key_file); !ok)
      return ok.why();
  return t;
}

} // namespace belay::cli
