#pragma once
// One request and its answer over a fresh connection to a node's HTTP API.

#include "protocol/base/result.hpp"

#include <boost/json/value.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace belay::cli {

/// Where the API is: TCP, or a Unix socket.
struct api_address {
  std::string host, port;
  std::string unix_path;
  bool https = false;
};
/// `host`, `host:port`, `http://host:port`, `https://host:port`, `unix:///path`.
/// @param https also where the text does not say so
result<api_address> parse_api_address(std::string text, bool https = false);

/// What a client wants to see of an HTTPS server, and what it shows: PEM files.
struct api_tls_settings {
  std::string ca_file, ca_path;    ///< who signs the server's certificate; both empty: whom this machine trusts
  std::string cert_file, key_file; ///< shown if the server asks; both or none
  std::string server_name;         ///< that the certificate must have; empty: the host of the address
  bool verify = true;              ///< false: any server will do
};
/// The same, with the files read.
class api_tls;
result<std::shared_ptr<api_tls>> load_api_tls(const api_tls_settings& s);

/// The part of a target behind the question mark.
class api_query {
public:
  api_query& add(std::string_view name);
  api_query& add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; } ///< escaped

private:
  std::string text_;
};

struct api_answer {
  unsigned status = 0;
  std::string body;

  bool found() const { return status == 200; }
  /// As Consul's Go client words it: `Unexpected response code: 500 (text)`.
  std::string complaint() const;
};
/// Why it is no 200; empty if it is one.
std::string complaint_about(const result<api_answer>& answer);

class api_client {
public:
  /// @param tls null: plain HTTP. @pre not null if where.https
  api_client(api_address where, std::string token, std::string basic_auth, std::shared_ptr<api_tls> tls = nullptr);

  /// @param path escaped, from `/v1` on
  /// @returns a failure if there was no complete answer: then a write may or may not have happened.
  result<api_answer> ask(std::string_view method, const std::string& path, const api_query& query,
                         const std::string& body = {}) const;
  /// The body of a 200 as JSON; everything else is a failure.
  result<boost::json::value> get_json(const std::string& path, const api_query& query) const;

private:
  api_address where_;
  std::string token_;
  std::string basic_auth_;
  std::shared_ptr<api_tls> tls_;
};

} // namespace belay::cli
