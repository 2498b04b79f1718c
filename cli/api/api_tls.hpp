#pragma once
// What a client wants to see of an HTTPS server, and what it shows.

#include "protocol/base/result.hpp"

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <string>

namespace belay::cli {

/// PEM files.
struct api_tls_settings {
  std::string ca_file, ca_path;    ///< who signs the server's certificate; both empty: whom this machine trusts
  std::string cert_file, key_file; ///< shown if the server asks; both or none
  bool verify = true;              ///< false: any server will do
};

/// The same, with the files read.
result<std::shared_ptr<boost::asio::ssl::context>> load_api_tls(const api_tls_settings& s);

} // namespace belay::cli
