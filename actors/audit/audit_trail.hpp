#pragma once
// A gateway's part of the audit log. It makes one line for each answered request, and decides what
// happens to requests if the log is not writable (docs/operate/operations.md, "The audit log").
// audit_log writes the lines.

#include "actors/audit/audit_event.hpp"
#include "actors/audit/token_owners.hpp"
#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/telemetry/metrics.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::actors {

struct audit_rules {
  bool enforced = false; ///< no answer is sent before its line is written; otherwise lines may be lost
  std::size_t waiting_bytes_max = 8u << 20; ///< bytes that wait for the disk; more is treated like a full disk
};

/// Facts about a request for its line.
struct audited_request {
  audit_event event;
  std::optional<state::auth_context> by; ///< nullopt: ACLs are off, or the token was not determined
  std::string token_named = {};          ///< token that the path names; empty: none
  bool token_known = false;              ///< whether that token exists; otherwise the text may be a secret
  bool named_again = false;              ///< the owner of `by` was looked up a second time
  bool agent_master = false;             ///< it was permitted by acl.tokens.agent_master, which is not in the tables
  enum class stage : std::uint8_t {
    read,     ///< by the gateway
    begun,    ///< sent on to other actors
    complete, ///< answered or dropped: the event has all but what is being looked up
  };
  stage reached = stage::read;
  int lookups = 0;                              ///< of `by` and `token_named`, not answered yet
  audit_outcome reported = audit_outcome::done; ///< by the actor that decided it; unknown: its response is not awaited
  std::uint64_t waits = 0;                      ///< the round in which its connection will be notified
  std::uint64_t line = 0;                       ///< sequence number of the line; 0: not written yet
};

class audit_trail {
public:
  /// What to do with an answer.
  enum class decision : std::uint8_t {
    send,
    wait,    ///< for the disk; its connection is notified
    withhold ///< another one is sent instead: withheld()
  };

  /// @param gateway its number
  /// @param uuid creates fresh UUIDs
  /// @param wall_ns since 1970
  /// @param out,pending,m must outlive this object
  audit_trail(std::uint16_t gateway, audit_rules rules, outbox& out, pending_requests& pending,
              std::function<std::string()> uuid, std::function<std::int64_t()> wall_ns, metrics& m)
      : gateway_(gateway), rules_(rules), out_(out), owners_(out, pending), uuid_(std::move(uuid)),
        wall_ns_(std::move(wall_ns)), metrics_(m) {}

  /// A request was read. Not all are audited (docs/operate/operations.md).
  void begin(exchange& e, const http::raw_request& r, const http::parsed_request& p, monotonic_time now);
  /// Call it before a request is sent on. @returns false: it was rejected and is answered
  bool admit(exchange& e);
  /// A write was decided, or its outcome is unknown.
  void decided(exchange& e, const write_result& r) const;
  /// The responses of other actors are no longer awaited.
  void given_up(exchange& e) const;
  /// Call it when the answer of `e` is the next to be sent. May be called again. @pre e.answer
  decision decide(exchange& e, monotonic_time now);
  /// The answer to a request whose own is withheld.
  http::response withheld() const;
  /// The client of `e` has disconnected, and `e` will be destroyed.
  void dropped(exchange& e, monotonic_time now);

  /// @returns false: it is the response to another query
  bool read_answered(const read_result& r, monotonic_time now) { return owners_.answered(r, now); }
  void written(const audit_written& w, monotonic_time now);
  /// Call it a few times a second.
  void tick(monotonic_time now);
  /// Sends everything to the audit_log, without waiting for responses.
  void close();

private:
  bool refusing() const { return broken_ || waiting_bytes() > rules_.waiting_bytes_max; }
  std::size_t waiting_bytes() const { return waiting_.size() + (sent_ ? sent_->size() : 0); }
  void name(const std::shared_ptr<audited_request>& a, monotonic_time now);
  void look_up(const std::shared_ptr<audited_request>& a, monotonic_time now);
  void found(const std::shared_ptr<audited_request>& a, monotonic_time now);
  void complete(const std::shared_ptr<audited_request>& a, const http::response* answer, monotonic_time now);
  void finish(const std::shared_ptr<audited_request>& a, monotonic_time now);
  void flush(monotonic_time now);
  void broken(const std::string& why, monotonic_time now);
  void lost(std::uint64_t lines);
  void respond_to_clients();

  std::uint16_t gateway_;
  audit_rules rules_;
  outbox& out_;
  token_owners owners_;
  std::function<std::string()> uuid_;
  std::function<std::int64_t()> wall_ns_;
  metrics& metrics_;

  std::string waiting_;                     ///< lines for the next write_audit
  std::shared_ptr<const std::string> sent_; ///< null: audit_log has nothing to do
  monotonic_time sent_at_{}, retry_at_{}, logged_at_{};
  std::uint64_t lines_ = 0, written_ = 0; ///< since the start; without lines about lost ones
  std::uint64_t lost_ = 0;                ///< lines since the last line that reports lost ones
  std::uint64_t lost_in_sent_ = 0;        ///< number reported by the first line of `sent_`; 0: it has no such line
  std::uint64_t lost_unlogged_ = 0;       ///< not in the node's own log yet
  bool broken_ = false;
  std::string why_broken_;
  std::vector<std::weak_ptr<requester>> clients_; ///< waiting for the disk
  std::uint64_t round_ = 1;                       ///< number of notifications so far
  bool closing_ = false;
};

} // namespace belay::actors
