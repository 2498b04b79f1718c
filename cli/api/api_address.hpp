#pragma once
// Where the API is, and what is asked of it.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace belay::cli {

/// TCP, or a Unix socket.
struct api_address {
  std::string host, port;
  std::string unix_path;
  bool https = false;

  /// `http://HOST:PORT`, for messages.
  std::string text() const;
};
/// `host`, `host:port`, `http://host:port`, `https://host:port`, `unix:///path`.
/// @param https also where the text does not say so
result<api_address> parse_api_address(std::string text, bool https = false);

/// The part of a target behind the question mark.
class api_query {
public:
  api_query& add(std::string_view name);
  api_query& add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; } ///< escaped

private:
  std::string text_;
};

} // namespace belay::cli
