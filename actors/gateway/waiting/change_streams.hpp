#pragma once
// Clients that follow key changes as server-sent events (docs/reference/changes.md). Streams for
// the same keys and token are a group. One query of it waits at the state machine; its result is
// rendered once for all, and for groups with the same result. A stream behind its group reads on
// its own to catch up.

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
  // A client with this much queued is too slow if more arrives: its stream ends; it may resume.
  static constexpr std::size_t queued_bytes_max = 1u << 20;
  // How often each stream gets its cursor in any case.
  static constexpr std::chrono::seconds progress_period{10};
  // A snapshot up to this age also serves others: after a restore all streams need one.
  static constexpr std::chrono::seconds snapshot_age_max{1};

  /// @param out,pending,held,m must outlive this object
  change_streams(outbox& out, pending_requests& pending, answer_times times, byte_budget& held, metrics& m)
      : out_(out), pending_(pending), times_(times), held_(held), metrics_(m) {}

  /// Requests what it needs first, with the id of the exchange. @pre has(e)
  void begin(exchange& e, monotonic_time now);
  static bool has(const exchange& e) { return std::holds_alternative<http::change_stream>(e.what); }
  /// The settled response to that.
  void opened(exchange& e, const read_result& r, monotonic_time now);
  /// @returns false: it is the response to another query
  bool answered(const read_result& r, monotonic_time now);
  /// The client can take more.
  void next_piece(exchange& e, monotonic_time now);
  /// The client may be gone: ends the stream with what is queued. @pre the stream was opened
  void end_wait(const exchange& e);
  /// The client is gone.
  void close(const exchange& e);
  /// Call it a few times a second.
  /// @param leaderless it is known that this server has no leader
  void tick(monotonic_time now, bool leaderless);
  /// Ends all streams with what is queued.
  void finish();

private:
  struct group;
  enum class phase {
    reading, ///< what its group had before; by its own query
    awaiting_snapshot,
    snapshot,  ///< piece by piece
    following, ///< with its group
    ending,    ///< with `last_words`, after what is queued
  };
  struct stream {
    exchange* e = nullptr;
    request_id name; ///< in streams_, and e->transfer->archive
    std::string key; ///< key of the stream's group
    phase now = phase::reading;
    state::change_position have;                   ///< all up to there is sent, or queued
    state::history_id history;                     ///< of `have`, as its client gave it; none: not given, or checked
    group* in = nullptr;                           ///< following
    std::size_t spot = 0;                          ///< index in in->members
    request_id requested;                          ///< its own pending query; zero: none
    bool waits_for_server = false;                 ///< that one is answered when this server has what the client has
    request_id waits;                              ///< id of the exchange that waits for a piece; zero: it has one
    std::shared_ptr<snapshot_text> state;          ///< null: none is being sent
    std::size_t next_piece = 0;                    ///< next piece of the state
    std::string why_reset;                         ///< empty: it has requested the snapshot
    log_index newer_than;                          ///< the snapshot must have applied this
    std::shared_ptr<const acl::authorizer> viewer; ///< permissions with which it was read
    std::deque<http::shared_body_ptr> queue;
    std::size_t queued_bytes = 0;
    std::string last_words;
  };
  using members = std::vector<stream*>;
  /// The streams at one cursor that request the same.
  struct group {
    state::query requested; ///< a kv_changes without its cursor
    bool keys_only = false;
    state::change_position position; ///< cursor of the last change sent to it
    members following;
    request_id waits; ///< zero: it has to ask
    monotonic_time progress_due;
    std::shared_ptr<const acl::authorizer> viewer;
  };
  struct snapshots_of_group {
    state::query requested;
    bool keys_only = false;
    request_id under_way;
    std::vector<request_id> waiting; ///< streams
    std::weak_ptr<snapshot_text> newest;
    monotonic_time made;
  };
  using groups = std::map<std::string, std::unique_ptr<group>>;
  /// The last text sent to a group. Groups whose tokens see the same keys share one text.
  struct rendering {
    bool keys_only = false;
    std::vector<state::change_position> changes;
    state::change_position progress; ///< after the changes; index zero: none
    state::history_id history;
    http::shared_body_ptr text; ///< null: there is none, or nothing to send
  };

  static std::string key_of(const http::change_stream& requested, const http::render_options& options);
  static const http::change_stream& requested_by(const stream& s) { return std::get<http::change_stream>(s.e->what); }

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
  void read_done(group& g, const read_result& r, monotonic_time now);
  http::shared_body_ptr rendered(const state::change_rows& rows, bool keys_only, const std::string& progress);
  void send_all(group& g, const state::change_rows& rows, monotonic_time now);
  void end_without_leader();
  void needs_snapshot(stream& s, std::string why, log_index newer_than, monotonic_time now);
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
  // What is answered next: by id of the query.
  std::unordered_map<request_id, request_id> requested_by_streams_;
  std::unordered_map<request_id, std::string> requested_by_groups_, requested_for_snapshots_;
  std::size_t following_ = 0, queued_bytes_ = 0; ///< totals of all streams
  metrics::streams_counted counted_;             ///< in the metrics
  std::optional<monotonic_time> leaderless_since_;
  bool finished_ = false;
};

} // namespace belay::actors
