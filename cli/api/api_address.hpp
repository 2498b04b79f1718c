#pragma once
// The address of a node's HTTP API, and the query of a request.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace belay::cli {

/// A TCP address, or the path of a Unix socket.
struct api_address {
  std::string host, port;
  std::string unix_path;
  bool https = false;

  /// The address as a URL, for messages.
  std::string text() const;
};
/// Parses `host`, `host:port`, `http://host:port`, `https://host:port` or `unix:///path`.
/// @param https use HTTPS even if the text does not say so
result<api_address> parse_api_address(std::string text, bool https = false);

/// The query of a request target: the part after the question mark.
class api_query {
public:
  api_query& add(std::string_view name);
  api_query& add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; } ///< with escaped values

private:
  std::string text_;
};

} // namespace belay::cli
