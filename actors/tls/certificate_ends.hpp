#pragma once
// Expiry of certificates: those that a server presents, and those of the authorities
// that it trusts. Decides when to warn.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct ssl_ctx_st;

namespace belay::tls {

struct certificate_end {
  std::string name;             ///< the subject, as `CN = server.dc1.consul`
  std::int64_t at = 0;          ///< seconds since 1970
  bool of_auth_context = false; ///< trusted, not presented

  bool operator==(const certificate_end&) const = default;
};

/// Certificates in the context: the presented one, its chain, the authorities. Null: none.
std::vector<certificate_end> certificate_ends(ssl_ctx_st* context);

/// Whole days until then; negative: it has expired.
std::int64_t days_left(const certificate_end& c, std::int64_t now_seconds);

/// Remembers previous results, so that each threshold is reported once.
class certificate_watch {
public:
  static constexpr std::int64_t warn_days = 30, urgent_days = 7;

  enum class urgency : std::uint8_t { none, soon, urgent, over };
  struct news {
    certificate_end certificate;
    urgency how = urgency::none;
    std::int64_t days = 0;
  };
  /// @returns those that became more urgent since the last call; a replaced one starts over
  std::vector<news> look(const std::vector<certificate_end>& all, std::int64_t now_seconds);

private:
  std::map<std::pair<std::string, std::int64_t>, urgency> reported_; ///< by name and end
};

} // namespace belay::tls
