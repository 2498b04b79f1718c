#pragma once
// A client's request from the moment it was read until its answer is written, and what follows from what it asks for:
// which requests of one connection may be decided together, which may wait for minutes, how long an acquire waits.

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

/// Who sent a request and takes its answer: a connection.
class requester : public std::enable_shared_from_this<requester> {
public:
  virtual ~requester() = default;
  /// Some of its exchanges got their answers.
  virtual void progress() = 0;
  /// A piece of the answer that goes out now, which has no other piece, goes to the client at once; the connection may be closed when this
  /// returns. @returns false: something is before it, and it has to take its turn
  virtual bool send_now(const http::shared_body_ptr& piece) {
    (void)piece;
    return false;
  }
};

/// What is known of the permission for a request, where ACLs are in force (access_questions.hpp).
struct access_progress {
  std::vector<state::permission_needed> needed;
  std::shared_ptr<const acl::authorizer> may; ///< what its token may do, as of when that was asked; null: it was not
  std::unique_ptr<agent::reply> agent_said;   ///< not told before the token is looked at again
  monotonic_time since;                       ///< it was asked for first; zero: it was not
  std::uint64_t known_index = 0;              ///< of what was said of it
  std::shared_ptr<access_watch> watch;        ///< it waits or streams, and is judged again meanwhile; null: it is not
  bool asked = false;                         ///< what comes next is the answer to that
  bool granted = false;
  bool by_tables_behind = false; ///< asked of tables that may be behind the leader's
  bool decided_here = false;     ///< by acl.tokens.agent_master
};

/// What the catalog says of client agents, for whoever asks for members or orders one out.
struct client_agent_search {
  std::vector<state::node_ptr> nodes;
  std::vector<state::service_instance> servers; ///< of agent::server_service
  std::vector<state::check_ptr> critical;
};

/// A request whose answer has not been written yet. It belongs to its requester and stays where it is in memory.
struct exchange {
  /// What it asks for; monostate: the answer was known at once.
  using asked =
      std::variant<std::monostate, http::read_request, http::change_stream, state::command, http::session_renew,
                   http::session_renew_list, http::snapshot_save, http::snapshot_restore, http::local_request,
                   http::agent_request, passed_on_request, std::unique_ptr<const unread_request>>;

  requester* from = nullptr;
  request_id id; ///< under which an actor was asked last
  asked what;
  std::optional<state::authority> by; ///< in whose name; nullopt: ACLs are not in force
  http::access needs = http::access::nobody;
  access_progress access;
  http::render_options options;
  std::unique_ptr<const http::cached_read> cached{}; ///< of a server: what it reads with `?cached`; null: not so
  std::string_view route;                            ///< static text
  std::string shown;                ///< method and target for the log, without tokens; only while requests are logged
  std::string shown_if_found;       ///< the same with what may be shown if the answer is 200; empty: there is no more
  std::size_t request_bytes = 0;    ///< of its target and body, which it holds until it is answered
  std::size_t understood_bytes = 0; ///< about what `what` takes beside them (http::parsed_request::memory)
  std::size_t rendering_bytes = 0;  ///< of its answer that is being rendered, counted for one of those who wait for it
  std::size_t load = 0;             ///< what it counts for while others work on it (protocol/forward/load_shedder.hpp)
  monotonic_time began;
  monotonic_time
      passed_on{};         ///< to those who answer it; until then it waited for what came before it on its connection
  monotonic_time deadline; ///< if nobody answered until then, the answer is 500 with the text `give_up`
  std::string_view give_up = "rpc error making call: i/o timeout"; ///< Consul's when a leader is silent; static text
  std::optional<http::response> answer;
  bool head = false; ///< the answer has no body
  bool keep_alive = true;
  bool old_version = false;                      ///< HTTP/1.0
  bool sent = false;                             ///< somebody is working on it (or it is answered)
  std::unique_ptr<snapshot_transfer> transfer;   ///< of a snapshot request
  std::unique_ptr<client_agent_search> agents{}; ///< of agent_members and force_leave
  std::uint64_t last_contact_ms = 0;             ///< of a snapshot's read
  bool known_leader = true;                      ///< of a snapshot's read
  monotonic_time wait_until{};                   ///< so long an acquire or a claim waits for its grant
  bool in_delay = false;                         ///< it waits for the end of a lock-delay now
  bool in_queue = false;                         ///< it waits in a queue of the state machine now (claim_waits.hpp)
  log_index asked_at{}; ///< in_queue: the entry that asked for the lock last, as far as is known here
  std::shared_ptr<audited_request> audit{}; ///< null: the audit log need not know of it, or knows
  bool stamped_again = false;               ///< its write was proposed a second time, with a newer time
  bool ask_again = false;                   ///< local requests without a leader: repeated until `deadline`
  bool input_ended = false; ///< its client sends nothing more and may be gone: it is answered without waiting
  /// Its client ended the connection. Not of one whose agent, or whose connection to this server, came to its end.
  bool disconnected = false;

  /// Takes over what was understood of the request. `body`: as much of it as is there.
  /// @pre `began` is set
  void understood(http::parsed_request&& parsed, std::string_view body);

  /// A write of one key that nothing but the log decides (no lock, no transaction, nobody to be judged).
  bool plain_write() const {
    if (by)
      return false;
    const auto* command = std::get_if<state::command>(&what);
    const auto* write = command != nullptr ? std::get_if<state::kv_write>(command) : nullptr;
    return write != nullptr && !command->once && write->op.verb != state::kv_verb::lock &&
           write->op.verb != state::kv_verb::unlock;
  }
  /// Plain writes of one connection may be decided together, in their order; everything else waits for what came before
  /// it and holds up what comes behind it, as with a server that reads one request at a time.
  bool may_overlap() const { return std::holds_alternative<std::monostate>(what) || plain_write(); }
  /// May be without an answer for minutes.
  bool blocking() const;
  /// How long an acquire that was refused waits before it is tried again.
  /// @param delay what is left of the lock-delay
  /// @returns nullopt: its client does not want to wait any more
  std::optional<std::chrono::nanoseconds> wait_for_lock(std::chrono::milliseconds delay, monotonic_time now) const;
};

} // namespace belay::actors
