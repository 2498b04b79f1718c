#pragma once
// Clients that follow changes of keys as server-sent events (docs/changes.md). Streams that ask for the same keys in the same name are a
// group: one query of it waits at the state machine, and what that brings is rendered once for all of them, and for the next groups if they are
// told the same. A stream that is behind its group reads on its own until it has caught up, as fast as its client takes it.

#include "actors/gateway/requests/byte_budget.hpp"
#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/gateway/waiting/event_texts.hpp"
#include "actors/telemetry/metrics.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace belay::actors {

class change_streams {
public:
  // A client that has so much before it, and more comes, is too slow: it is cut, and goes on from its place.
  static constexpr std::size_t queued_bytes_max = 1u << 20;
  // Each stream is told its place so often, whatever happens.
  static constexpr std::chrono::seconds progress_period{10};
  // A snapshot that is so old serves others that ask for it: after a restore all do.
  static constexpr std::chrono::seconds snapshot_age_max{1};

  /// @param out,pending,held,m outlive it
  change_streams(outbox& out, pending_requests& pending, answer_times times, byte_budget& held, metrics& m)
      : out_(out), pending_(pending), times_(times), held_(held), metrics_(m) {}

  /// Asks for what comes first, under the id of the exchange. @pre has(e)
  void begin(exchange& e, monotonic_time now);
  static bool has(const exchange& e) { return std::holds_alternative<http::change_stream>(e.what); }
  /// The answer to that, which was settled.
  void opened(exchange& e, const read_result& r, monotonic_time now);
  /// @returns false: it is the answer to somebody else's question
  bool answered(const read_result& r, monotonic_time now);
  /// The client has room for more.
  void next_piece(exchange& e, monotonic_time now);
  /// The client may be gone: the stream ends with what is there. @pre the stream was opened
  void end_wait(const exchange& e);
  /// The client is gone.
  void close(const exchange& e);
  /// A few times a second.
  /// @param leaderless it is known that this server has no leader
  void tick(monotonic_time now, bool leaderless);
  /// All of them come to an end, with what is there.
  void finish();

private:
  struct group;
  enum class phase {
    reading, ///< what its group had before; by its own query
    awaiting_snapshot,
    snapshot,  ///< piece by piece
    following, ///< with its group
    ending,    ///< with `last_words`, behind what is queued
  };
  struct stream {
    exchange* e = nullptr;
    request_id name; ///< in streams_, and e->transfer->archive
    std::string key; ///< of its group
    phase now = phase::reading;
    state::change_place have;             ///< all up to there is sent, or queued
    state::history_id history;            ///< of `have`, as its client named it; none: it has not, or it was checked
    group* in = nullptr;                  ///< following
    std::size_t spot = 0;                 ///< in in->members
    request_id asked;                     ///< its own query that is under way; zero: none
    bool waits_for_server = false;        ///< that one is answered when this server has what the client has
    request_id waits;                     ///< under which the exchange waits for a piece; zero: it has one
    std::shared_ptr<snapshot_text> state; ///< null: none is being sent
    std::size_t next_piece = 0;           ///< of it
    std::string why_reset;                ///< empty: it has asked for the snapshot
    log_index newer_than;                 ///< the snapshot must have applied this
    std::shared_ptr<const acl::authorizer> viewer; ///< with whose permissions it was read
    std::deque<http::shared_body_ptr> queue;
    std::size_t queued_bytes = 0;
    std::string last_words;
  };
  using members = std::vector<stream*>;
  /// The streams that stand at the same place and ask for the same.
  struct group {
    state::query asked; ///< a kv_changes, but for its place
    bool keys_only = false;
    state::change_place place; ///< what it has been told of
    members following;
    request_id waits; ///< zero: it has to ask
    monotonic_time progress_due;
    std::shared_ptr<const acl::authorizer> viewer;
  };
  struct snapshots_of_group {
    state::query asked;
    bool keys_only = false;
    request_id under_way;
    std::vector<request_id> waiting; ///< streams
    std::weak_ptr<snapshot_text> newest;
    monotonic_time made;
  };
  using groups = std::map<std::string, std::unique_ptr<group>>;
  /// What a group was told last. Groups of other tokens that see as much are told the same, and are answered at the same time.
  struct rendering {
    bool keys_only = false;
    std::vector<state::change_place> changes;
    state::change_place progress; ///< behind the changes; of index zero: none
    state::history_id history;
    http::shared_body_ptr text; ///< null: there is none, or nothing to be told
  };

  static std::string key_of(const http::change_stream& asked, const http::render_options& options);
  static const http::change_stream& asked_by(const stream& s) { return std::get<http::change_stream>(s.e->what); }

  request_id ask(state::query q, std::uint64_t wait_for, monotonic_time until);
  void read_on(stream& s, monotonic_time now);
  void wait_for_server(stream& s, monotonic_time now);
  void ask_for(stream& s, std::uint64_t wait_for, monotonic_time until);
  void read(stream& s, const read_result& r, monotonic_time now);
  void take(stream& s, const state::query_result& result, monotonic_time now);
  void follow(stream& s, monotonic_time now);
  void leave(stream& s);
  void give_up_waiting(group& g);
  void await(group& g, monotonic_time now);
  void told(group& g, const read_result& r, monotonic_time now);
  http::shared_body_ptr rendered(const state::change_rows& rows, bool keys_only, const std::string& progress);
  void tell_all(group& g, const state::change_rows& rows, monotonic_time now);
  void end_without_leader();
  void want_snapshot(stream& s, std::string why, log_index newer_than, monotonic_time now);
  void send_snapshot(stream& s, std::shared_ptr<snapshot_text> state);
  void snapshot_read(const std::string& key, const read_result& r, monotonic_time now);
  void put(stream& s, const http::shared_body_ptr& text);
  void put_own(stream& s, std::string text);
  void queue(stream& s, http::shared_body_ptr text);
  void count();
  static bool send_now(const stream& s, const http::shared_body_ptr& text);
  void feed(stream& s);
  bool fill(stream& s);
  void end(stream& s, std::string last_words);
  void refuse(stream& s, const std::string& why);
  void forget(request_id stream_name);
  http::shared_body_ptr keep(std::string text);
  stream* find(request_id name);
  std::vector<stream*> all_streams() const;

  outbox& out_;
  pending_requests& pending_;
  answer_times times_;
  byte_budget& held_;
  metrics& metrics_;
  std::unordered_map<request_id, std::unique_ptr<stream>> streams_;
  groups groups_;
  rendering last_;
  std::map<std::string, snapshots_of_group> snapshots_; ///< by key of their group
  // What is answered next: by the id of the question.
  std::unordered_map<request_id, request_id> asked_by_streams_;
  std::unordered_map<request_id, std::string> asked_by_groups_, asked_for_snapshots_;
  std::size_t following_ = 0, queued_bytes_ = 0; ///< of all streams
  metrics::streams_counted counted_;             ///< in the metrics
  std::optional<monotonic_time> leaderless_since_;
  bool finished_ = false;
};

} // namespace belay::actors
