#pragma once
// Claims and waiters for keys' locks: by id, by resource in grant order, by session, by deadline.

#include "protocol/base/mutants.hpp"
#include "protocol/state/claims/tables/end_shares.hpp"
#include "protocol/state/undo_logged_map.hpp"

#include <map>
#include <set>

namespace belay::state {

/// What holders or delayed holders take of a resource.
struct occupancy {
  std::uint64_t exclusive = 0, shared = 0; ///< their number
  std::uint64_t permits = 0;               ///< sum of both

  void add(claim_mode mode, std::uint64_t n);
  void add(const occupancy& others);
  void remove(claim_mode mode, std::uint64_t n);
  bool empty() const { return exclusive == 0 && shared == 0; }
  bool operator==(const occupancy&) const = default;
};

/// Whether the waiter's deadline has passed. A waiter whose deadline is now is no longer granted.
inline bool is_past_deadline(const claim_record& waiter, cluster_time now) {
  return !waiter.deadline.is_zero() && waiter.deadline <= now;
}

/// Priority descending, then ticket ascending.
struct queue_position {
  std::uint64_t behind = 0; ///< claim_priority_max - priority
  std::uint64_t ticket = 0;

  auto operator<=>(const queue_position&) const = default;
};
inline queue_position position_of(const claim_record& c) {
  return {MUTANT(tickets_before_priorities) ? 0 : claim_priority_max - c.priority, c.ticket};
}

/// Holders and waiters of one resource. The lock of a key has only waiters here; the key names its
/// holder.
struct claim_line {
  using queue_map = std::map<queue_position, claim_ptr>;

  queue_map queue;
  std::map<std::uint64_t, claim_ptr> holders; ///< by fencing token
  occupancy held;

  bool empty() const { return queue.empty() && holders.empty(); }
  bool operator==(const claim_line&) const = default;
  /// Queue position; 1 is the head. Cost: the distance to the nearer end. @pre the claim waits here
  std::uint64_t position(const claim_record& waiter) const;
};

class claims_table {
public:
  claims_table(undo_log& log, end_shares& shares) : rows_(log, table::claims), shares_(shares) {}

  /// Null: there is none.
  claim_ptr find(const resource_name& of, std::string_view id) const;
  /// Null: no holders or waiters. Valid until the next change of the table.
  const claim_line* line(const resource_name& of) const;
  /// Calls `f(resource_name, claim_line)` for each key with the prefix whose lock has waiters.
  template <class F>
  void for_each_awaited_key(std::string_view prefix, F&& f) const {
    const auto begin = 'k' + std::string(prefix);
    for (auto at = lines_.lower_bound(begin); at != lines_.end() && at->first.starts_with(begin); ++at)
      f(resource_name{at->first.substr(1, at->first.size() - 2), claim_space::keys}, at->second);
  }
  /// Calls `f(line)` for each line with waiters, in key order, while it returns true.
  template <class F>
  void for_each_awaited(F&& f) const {
    for (const auto& key : awaited_)
      if (!f(lines_.find(key)->second))
        return;
  }

  /// The same for all lines.
  template <class F>
  void for_each_line_while(F&& f) const {
    for (const auto& [key, line] : lines_)
      if (!f(line))
        return;
  }

  /// All of a session, in key order.
  std::vector<claim_ptr> of_session(std::string_view session) const;
  /// What the session holds and waits for on one resource, in O(log n).
  occupancy own(std::string_view session, const resource_name& of) const;
  /// The first of those, in key order. Null: there is none.
  claim_ptr first_of_session(std::string_view session, const resource_name& of) const;
  /// Calls `f(claim_ptr)` for each claim of a session, in key order, while it returns true.
  template <class F>
  void for_each_of_session(std::string_view session, F&& f) const {
    if (const auto at = by_session_.find(session); at != by_session_.end())
      for (const auto& key : at->second)
        if (!f(*rows_.find(key)))
          return;
  }
  /// The same for one resource, without visiting the session's other claims.
  template <class F>
  void for_each_of_session(std::string_view session, const resource_name& of, F&& f) const {
    const auto at = by_session_.find(session);
    if (at == by_session_.end())
      return;
    const auto begin = resource_key(of.space, of.name);
    for (auto key = at->second.lower_bound(begin); key != at->second.end() && key->starts_with(begin); ++key)
      if (const auto& claim = *rows_.find(*key); claim->of == of && !f(claim)) // a name may contain a NUL and continue
        return;
  }
  bool has_session(std::string_view session) const { return by_session_.contains(session); }
  /// The waiter with the earliest deadline. Null: none has one.
  claim_ptr first_due() const;

  std::size_t waiters() const { return waiters_; }
  std::size_t holders() const { return rows_.size() - waiters_; }
  /// Bytes of values, names and ids of all waiters (rule 24).
  std::uint64_t queued_bytes() const { return queued_bytes_; }

  void put(claim_ptr row);
  void erase(std::string_view key);
  const undo_logged_map<claim_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes each of them from the rows (protocol/state/recount).
  auto beside() const {
    return std::tuple{kept_member{"lines", lines_},
                      kept_member{"awaited", awaited_},
                      kept_member{"by_session", by_session_},
                      kept_member{"own", own_},
                      kept_member{"by_deadline", by_deadline_},
                      kept_member{"waiters", waiters_},
                      kept_member{"queued_bytes", queued_bytes_}};
  }
  static constexpr std::size_t bytes_of_no_row() { return sizeof(end_shares*); }

private:
  void track(const claim_ptr& c);
  void untrack(const claim_ptr& c);

  undo_logged_map<claim_ptr> rows_;
  end_shares& shares_;
  std::map<std::string, claim_line, std::less<>> lines_; ///< by resource_key()
  std::set<std::string> awaited_;                        ///< keys of lines with waiters
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> by_session_;
  std::map<std::string, occupancy, std::less<>> own_;          ///< by session and resource_key()
  std::set<std::pair<cluster_time, std::string>> by_deadline_; ///< deadlines of waiters
  std::size_t waiters_ = 0;
  std::uint64_t queued_bytes_ = 0;
};

/// What a waiter adds to claims_table::queued_bytes().
std::uint64_t queued_bytes_of(const claim_record& c);

} // namespace belay::state
