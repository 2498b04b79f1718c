#pragma once
// Rows of claims, resources, write guards and ended sessions (docs/reference/claims.md): immutable once
// stored. A resource is a name or the lock of a key; equal names are still two resources (rule 1).

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/state/acl/requester.hpp"
#include "protocol/state/enum_names.hpp"
#include "protocol/state/fields.hpp"
#include "protocol/state/tags.hpp"

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::state {

// ---- resources

enum class claim_space : std::uint8_t {
  claims = 0, ///< resources of `/v1/claim/NAME`
  keys = 1,   ///< the locks of keys
};
/// As in queries: `?claim=NAME`, `?lock=KEY`.
template <>
inline constexpr auto names_of<claim_space> = std::to_array<std::string_view>({"claim", "lock"});
static_assert(count_of<claim_space> == static_cast<std::size_t>(claim_space::keys) + 1);

/// Ordered by name first: the order in which an entry grants claims (docs/reference/claims.md, rule 12).
struct resource_name {
  std::string name;
  claim_space space = claim_space::claims;

  auto operator<=>(const resource_name&) const = default;
};
template <>
inline constexpr auto fields_of<resource_name> = std::tuple{
    field<&resource_name::name, "Name">{},
    field<&resource_name::space, "Space">{},
};

enum class claim_kind : std::uint8_t { lock = 0, rw = 1, semaphore = 2, election = 3 };
template <>
inline constexpr auto names_of<claim_kind> = std::to_array<std::string_view>({"lock", "rw", "semaphore", "election"});
static_assert(count_of<claim_kind> == static_cast<std::size_t>(claim_kind::election) + 1);

enum class claim_mode : std::uint8_t { exclusive = 0, shared = 1 };
template <>
inline constexpr auto names_of<claim_mode> = std::to_array<std::string_view>({"exclusive", "shared"});
static_assert(count_of<claim_mode> == static_cast<std::size_t>(claim_mode::shared) + 1);

/// Prefix of all row keys of a resource. A name may contain NUL; the last NUL ends the name.
std::string resource_key(claim_space space, std::string_view name);

/// Exists while it has a holder, waiter, delayed holder or fixed limit
/// (docs/reference/claims.md, rule 2); for the lock of a key while it has waiters.
struct claim_resource {
  static constexpr table in = table::claim_resources;

  std::string key; ///< resource_key()
  resource_name of;
  claim_kind kind = claim_kind::lock;
  std::uint64_t limit = 0; ///< permits of a semaphore; else 0
  bool pinned = false;     ///< a request fixed the limit (rule 3)
  log_index create_index;
  log_index modify_index; ///< newest change of it, its holders, its delayed holders or its queue
  /// The limit was fixed and no longer is: the next claim that names a limit sets it (rule 3).
  bool limit_open = false;
};
using claim_resource_ptr = std::shared_ptr<const claim_resource>;
template <>
inline constexpr auto fields_of<claim_resource> = std::tuple{
    field<&claim_resource::key, "", as::by_key>{},
    field<&claim_resource::of>{},
    field<&claim_resource::kind>{},
    field<&claim_resource::limit>{},
    field<&claim_resource::pinned>{},
    field<&claim_resource::create_index>{},
    field<&claim_resource::modify_index>{},
    field<&claim_resource::limit_open, "", as::later>{},
};

// ---- claims

enum class claim_state : std::uint8_t { waiting = 0, held = 1 };
/// The names that clients see.
template <>
inline constexpr auto names_of<claim_state> = std::to_array<std::string_view>({"waiting", "held"});
static_assert(count_of<claim_state> == static_cast<std::size_t>(claim_state::held) + 1);

/// A holder of a resource, or a waiter. For a key's lock only waiters: the key has the holder.
struct claim_record {
  static constexpr table in = table::claims;

  std::string key; ///< claim_key()
  resource_name of;
  /// Chosen by the client, else that of the session (rule 6); for a wait for a key's lock that of
  /// the session.
  std::string id;
  std::string session; ///< lower-case UUID
  claim_state state = claim_state::waiting;
  claim_mode mode = claim_mode::exclusive;
  std::uint64_t permits = 1;
  std::uint64_t priority = 0;   ///< 0 to 255, larger ones first
  payload value;                ///< never null
  std::uint64_t flags = 0;      ///< for a key
  bool refuse_deadlock = false; ///< `deadlock=refuse`
  std::uint64_t ticket = 0;     ///< order of the requests; never zero
  std::uint64_t fence = 0;      ///< fencing token of its grant; zero: it waits
  cluster_time requested;       ///< when it was requested
  cluster_time deadline;        ///< end of its wait; zero: unlimited
  cluster_time granted;         ///< zero: it waits
  log_index create_index;       ///< the entry that created it
  log_index modify_index;       ///< index of its grant, or of the newest change
  /// Accessor or network (http::network_of) of its client. Empty: entry below client_address_level.
  std::string scope;
  /// The last requester. Removed if it waits and may not write the name (docs/reference/claims.md, rule 33).
  requester by;
};
using claim_ptr = std::shared_ptr<const claim_record>;
template <>
inline constexpr auto fields_of<claim_record> = std::tuple{
    field<&claim_record::key, "", as::by_key>{},
    field<&claim_record::of>{},
    field<&claim_record::id, "ID">{},
    field<&claim_record::session, "Session">{},
    field<&claim_record::state, "State">{},
    field<&claim_record::mode, "Mode">{},
    field<&claim_record::permits, "Permits">{},
    field<&claim_record::priority, "Priority">{},
    field<&claim_record::value, "Value">{},
    field<&claim_record::flags, "Flags", as::fixed>{},
    field<&claim_record::refuse_deadlock>{},
    field<&claim_record::ticket>{},
    field<&claim_record::fence, "Fence">{},
    field<&claim_record::requested>{},
    field<&claim_record::deadline>{},
    field<&claim_record::granted>{},
    field<&claim_record::create_index, "CreateIndex">{},
    field<&claim_record::modify_index, "ModifyIndex">{},
    field<&claim_record::scope, "", as::later>{},
    field<&claim_record::by, "", as::later>{},
};
std::string claim_key(claim_space space, std::string_view name, std::string_view id);

/// What a delayed holder withholds in its lock delay (rule 17). Keys have lock delays instead.
struct claim_ghost {
  static constexpr table in = table::claim_ghosts;

  std::string key; ///< ghost_key(): fencing tokens are unique, ids need not be
  resource_name of;
  std::string id, session;
  claim_mode mode = claim_mode::exclusive;
  std::uint64_t permits = 1;
  std::uint64_t fence = 0;
  cluster_time until;
};
using claim_ghost_ptr = std::shared_ptr<const claim_ghost>;
template <>
inline constexpr auto fields_of<claim_ghost> = std::tuple{
    field<&claim_ghost::key, "", as::by_key>{},
    field<&claim_ghost::of>{},
    field<&claim_ghost::id, "ID">{},
    field<&claim_ghost::session, "Session">{},
    field<&claim_ghost::mode, "Mode">{},
    field<&claim_ghost::permits, "Permits">{},
    field<&claim_ghost::fence, "Fence">{},
    field<&claim_ghost::until>{},
};
std::string ghost_key(claim_space space, std::string_view name, std::uint64_t fence);

/// How a claim, or a wait for a key's lock, ended.
enum class claim_end : std::uint8_t {
  released = 0,    ///< a holder, by DELETE
  withdrawn = 1,   ///< a waiter, by DELETE (for a key's lock: `release`); also an unknown id (rule 7)
  handed_over = 2, ///< a holder transferred it
  deadline = 3,    ///< it waited until its deadline
  limit = 4,       ///< the limit fell below its permits (rule 5)
  session = 5,     ///< its session ended
  restored = 6,    ///< a restore replaced the tables
};
template <>
inline constexpr auto names_of<claim_end> = std::to_array<std::string_view>({"released", "withdrawn", "handed-over",
                                                                             "deadline", "limit", "session",
                                                                             "restored"});
static_assert(count_of<claim_end> == static_cast<std::size_t>(claim_end::restored) + 1);

/// An ended id, remembered so that earlier requests have no effect after it (rules 7 and 16).
struct claim_end_record {
  static constexpr table in = table::claim_ends;

  std::string key; ///< claim_key()
  resource_name of;
  std::string id, session; ///< session: empty if the id was unknown
  claim_end why = claim_end::released;
  /// claim_end::session: that of the session; claim_end::withdrawn: why, unless the client
  /// requested it.
  std::string cause;
  log_index index;    ///< index of the entry that ended it
  cluster_time until; ///< when it is forgotten
  std::string scope;  ///< claim_record::scope; for an unknown id: of the client that ended it
};
using claim_end_ptr = std::shared_ptr<const claim_end_record>;
template <>
inline constexpr auto fields_of<claim_end_record> = std::tuple{
    field<&claim_end_record::key, "", as::by_key>{},
    field<&claim_end_record::of>{},
    field<&claim_end_record::id, "ID">{},
    field<&claim_end_record::session, "Session">{},
    field<&claim_end_record::why, "Reason">{},
    field<&claim_end_record::cause, "Cause">{},
    field<&claim_end_record::index, "Index">{},
    field<&claim_end_record::until>{},
    field<&claim_end_record::scope, "", as::later>{},
};

/// Cause of a wait that was withdrawn because its client disconnected.
inline constexpr std::string_view client_disconnected = "its client disconnected";

// ---- write guards

/// A fencing token as a request names it, and its resource.
struct fence_ref {
  resource_name of;
  std::uint64_t fence = 0;

  bool operator==(const fence_ref&) const = default;
};
template <>
inline constexpr auto fields_of<fence_ref> = std::tuple{
    field<&fence_ref::of>{},
    field<&fence_ref::fence>{},
};

/// Writing a key under the prefix requires a fencing token of that resource (rules 34 to 37).
struct guard_record {
  static constexpr table in = table::guards;

  std::string prefix;
  resource_name by;
  log_index create_index;
  std::string scope; ///< as claim_record::scope, of the client that set it

  bool operator==(const guard_record&) const = default;
};
using guard_ptr = std::shared_ptr<const guard_record>;
template <>
inline constexpr auto fields_of<guard_record> = std::tuple{
    field<&guard_record::prefix, "Prefix", as::by_key>{},
    field<&guard_record::by>{},
    field<&guard_record::create_index, "CreateIndex">{},
    field<&guard_record::scope, "", as::later>{},
};

// ---- ended sessions

/// Why a session ended, and what it lost (rule 22).
struct ended_session {
  static constexpr table in = table::ended_sessions;

  std::string id;
  std::string name, node;
  /// `ttl`, `destroyed`, `destroyed by ACCESSOR`, `check CHECK critical`, `check CHECK
  /// deregistered`, `node deregistered`, `restored`.
  std::string cause;
  log_index index;
  std::uint64_t number = 0; ///< 1 is the first ever; they are forgotten in this order
  cluster_time at;
  /// Locks of keys and claims that it held, at most ended_session_names_max of them.
  std::vector<resource_name> released;
  std::uint64_t released_count = 0;                  ///< number of all of them
  std::uint64_t on_end_done = 0, on_end_refused = 0; ///< operations of OnEnd
};
using ended_session_ptr = std::shared_ptr<const ended_session>;
template <>
inline constexpr auto fields_of<ended_session> = std::tuple{
    field<&ended_session::id, "ID", as::by_key>{},
    field<&ended_session::name, "Name">{},
    field<&ended_session::node, "Node">{},
    field<&ended_session::cause, "Cause">{},
    field<&ended_session::index, "Index">{},
    field<&ended_session::number>{},
    field<&ended_session::at>{},
    field<&ended_session::released>{},
    field<&ended_session::released_count, "ReleasedCount">{},
    field<&ended_session::on_end_done, "OnEndDone">{},
    field<&ended_session::on_end_refused, "OnEndRefused">{},
};

// ---- limits

inline constexpr std::uint64_t waiters_max = 10'000; ///< limit for one resource (docs/reference/claims.md, HTTP)
inline constexpr std::size_t claim_value_bytes_max =
    4096; ///< limit for a claim's value, and for a key's while its acquire waits
inline constexpr std::uint64_t queued_bytes_max = 256ULL << 20; ///< all waiters' values, names and ids (rule 24)
inline constexpr std::uint64_t guards_max = 1'000;              ///< rule 34, for entries below client_address_level
/// Rule 34, from client_address_level on. One client may set half, as before; 20 fill it.
inline constexpr std::uint64_t client_guards_max = 2'000, guards_share = 100;
inline constexpr std::uint64_t ended_sessions_max = 10'000; ///< rule 22
inline constexpr std::size_t ended_session_names_max = 100; ///< a session may hold more than fits a row
inline constexpr std::uint64_t claim_end_ms = 600'000;      ///< rule 7: 10 minutes of cluster time
inline constexpr std::uint64_t claim_ends_max =
    100'000; ///< without a scope, oldest forgotten first: as many as clients may wait at once (issue 16)
/// Limit of ends with a scope, and of claims that will have one, by claim_end_bytes() (rule 7).
inline constexpr std::uint64_t claim_end_bytes_max = 1ULL << 30;
/// A scope may always have this many until claim_end_bytes_max is reached. With
/// names of up to 512 bytes, one scope fits into the half above which shares apply.
inline constexpr std::uint64_t claim_ends_share = 250'000;
/// Overhead of an end: the row with a session and a cause, and its positions in the tables.
inline constexpr std::uint64_t claim_end_row_bytes = 512;
inline constexpr std::size_t claim_id_bytes_max = 64; ///< a UUID has 36
inline constexpr std::uint64_t claim_priority_max = 255;
inline constexpr std::uint64_t claim_permits_max =
    1'000'000'000; ///< also of a limit: sums of 10,000 waiters and as many holders stay far below 2^64
inline constexpr std::uint64_t claim_deadline_ms_max = 366ULL * 24 * 3600 * 1000; ///< a year
inline constexpr std::uint64_t expired_at_once_max = 1'000;                       ///< rule 14: of one entry
inline constexpr std::size_t withdrawn_at_once_max = 1'000; ///< rule 24: as many as one entry expires
inline constexpr std::size_t graph_nodes_max = 10'000;      ///< rule 32
/// Rule 32, from client_address_level on: within about 10 ms, at most 1 us for each.
inline constexpr std::size_t search_claims_max = 10'000;
inline constexpr std::size_t ahead_max = 10;                  ///< rule 9
inline constexpr std::size_t listed_claims_max = 1'000;       ///< limit for one page (rule 9)
inline constexpr std::size_t on_end_ops_max = 64;             ///< rule 19
inline constexpr std::size_t on_end_bytes_max = 64 * 1024;    ///< rule 19: keys and values together
inline constexpr std::int64_t exact_ttl_ns_min = 100'000'000; ///< rule 20

} // namespace belay::state
