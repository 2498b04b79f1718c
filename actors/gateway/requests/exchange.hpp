#pragma once
// A client's request until its answer is written, and properties of its command. They say which
// requests of one connection may overlap, which may take minutes, and how long an acquire waits.

#include "actors/gateway/requests/snapshot_transfer.hpp"
#include "actors/gateway/requests/unread_request.hpp"
#include "actors/messages.hpp"
#include "actors/relay/request_for_servers.hpp"
#include "protocol/acl/authorizer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::actors {

struct access_watch;
struct audited_request;

/// The connection that sent a request and takes its answer.
class requester : public std::enable_shared_from_this<requester> {
public:
  virtual ~requester() = default;
  /// Some of its exchanges have been answered.
  virtual void progress() = 0;
  /// Sends a streamed piece of an answer at once, if no other piece is queued; the connection
  /// may be closed when this returns. @returns false: queue it
  virtual bool send_now(const http::shared_body_ptr& piece) {
    (void)piece;
    return false;
  }
};

/// What is known about the permission for a request, with ACLs (access_questions.hpp).
struct access_progress {
  std::vector<state::permission_needed> needed;
  std::shared_ptr<const acl::authorizer> may;    ///< permissions of its token when `asked`; null: not requested
  std::unique_ptr<agent::reply> agent_responded; ///< held back until the token has been checked again
  monotonic_time since;                          ///< time of the first check; zero: none
  std::uint64_t known_index = 0;                 ///< index of the last result
  std::shared_ptr<access_watch> watch;           ///< it waits or streams, and is rechecked; null: it is not
  bool requested = false;                        ///< the next result is about the permission
  bool granted = false;
  bool by_tables_behind = false; ///< read from tables that may lag behind the leader's
  bool decided_here = false;     ///< by acl.tokens.agent_master
};

/// The catalog's rows about client agents, for requests that list members or remove one.
struct client_agent_search {
  std::vector<state::node_ptr> nodes;
  std::vector<state::service_instance> servers; ///< instances of agent::server_service
  std::vector<state::check_ptr> critical;
};

/// A request whose answer is not written yet. Owned by its requester; its address does not change.
struct exchange {
  /// What it requests; monostate: the answer was known at once.
  using requested =
      std::variant<std::monostate, http::read_request, http::change_stream, state::command, http::session_renew,
                   http::session_renew_list, http::snapshot_save, http::snapshot_restore, http::local_request,
                   http::agent_request, passed_on_request, std::unique_ptr<const unread_request>>;

  requester* from = nullptr;
  request_id id; ///< id of the last message to an actor
  requested what;
  std::optional<state::auth_context> by; ///< on whose behalf; nullopt: ACLs are not in force
  http::access needs = http::access::unrestricted;
  access_progress access;
  http::render_options options;
  std::unique_ptr<const http::cached_read> cached{}; ///< on a server: a read with `?cached`; null: no such read
  std::string_view route;                            ///< static text
  std::string shown;                ///< method and target for the log, without tokens; only if requests are logged
  std::string shown_if_found;       ///< the same with what may be logged if the status is 200; empty: nothing more
  std::size_t request_bytes = 0;    ///< size of the request's target and body, held until it is answered
  std::size_t understood_bytes = 0; ///< approximate memory of `what` beside them (http::parsed_request::memory)
  std::size_t rendering_bytes = 0;  ///< size of the answer being rendered; counted for one of its clients
  std::size_t load = 0;             ///< weight while other actors work on it (protocol/forward/load_shedder.hpp)
  monotonic_time began;
  /// When it was sent to an actor; until then it waited for earlier requests of a connection.
  monotonic_time passed_on{};
  monotonic_time deadline; ///< without a response until then the answer is 500 with the text `give_up`
  std::string_view give_up = "rpc error making call: i/o timeout"; ///< Consul's when a leader is silent; static text
  std::optional<http::response> answer;
  bool head = false; ///< the answer has no body
  bool keep_alive = true;
  bool old_version = false;                      ///< HTTP/1.0
  bool sent = false;                             ///< an actor is working on it (or it is answered)
  std::unique_ptr<snapshot_transfer> transfer;   ///< transfer of a snapshot request
  std::unique_ptr<client_agent_search> agents{}; ///< search of agent_members and force_leave
  std::uint64_t last_contact_ms = 0;             ///< header value of a snapshot's read
  bool known_leader = true;                      ///< header value of a snapshot's read
  monotonic_time wait_until{};                   ///< how long an acquire or a claim waits for its grant
  bool in_delay = false;                         ///< it waits for the end of a lock delay now
  bool in_queue = false;                         ///< it waits in a queue of the state machine now (claim_waits.hpp)
  log_index requested_at{};                 ///< in_queue: the entry that requested the lock last, as far as known here
  std::shared_ptr<audited_request> audit{}; ///< null: the audit log does not need it, or has it
  bool stamped_again = false;               ///< its write was proposed a second time, with a newer time
  bool ask_again = false;                   ///< local requests without a leader: retried until `deadline`
  bool input_ended = false;                 ///< its client sends nothing more and may be gone: answer without waiting
  /// The client closed its connection. Not set if only its agent, or that one's connection, ended.
  bool disconnected = false;

  /// Takes over the parsed request. `body`: the part received so far.
  /// @pre `began` is set
  void understood(http::parsed_request&& parsed, std::string_view body);

  /// Whether it is a write of one key that only the log decides (no lock, no transaction, no
  /// authorization).
  bool plain_write() const {
    if (by)
      return false;
    const auto* command = std::get_if<state::command>(&what);
    const auto* write = command != nullptr ? std::get_if<state::kv_write>(command) : nullptr;
    return write != nullptr && !command->once && write->op.verb != state::kv_verb::lock &&
           write->op.verb != state::kv_verb::unlock;
  }
  /// Whether it may overlap other requests of its connection. Plain writes may, in order. Any other
  /// request waits for those before it and blocks those after it, as on a server that reads one
  /// request at a time.
  bool may_overlap() const { return std::holds_alternative<std::monostate>(what) || plain_write(); }
  /// Whether it may take minutes.
  bool blocking() const;
  /// How long a rejected acquire waits before it is retried.
  /// @param delay the rest of the lock delay
  /// @returns nullopt: its client does not want to wait any longer
  std::optional<std::chrono::nanoseconds> wait_for_lock(std::chrono::milliseconds delay, monotonic_time now) const;
};

} // namespace belay::actors
