#pragma once
// The TLS settings of the HTTP client: which servers it trusts, and which certificate it presents.

#include "protocol/base/result.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace belay::cli {

/// Paths of PEM files.
struct api_tls_settings {
  std::string ca_file, ca_path;    ///< authorities to trust; both empty: this machine's
  std::string cert_file, key_file; ///< presented if the server requests a certificate; both or none
  bool verify = true;              ///< false: do not verify the server
};

/// Loads the files into a TLS context.
result<std::shared_ptr<boost::asio::ssl::context>> load_api_tls(const api_tls_settings& s);

} // namespace belay::cli
