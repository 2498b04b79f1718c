#pragma once
// A server as recipes see it, in virtual time: sessions, keys with locks and queues, claims, and a
// store that checks fencing tokens. Written from the docs, not from the server's code.

#include "client/virtual_time/timeline.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::client_tests {

enum class dialect { belay, consul };

class model_server : public virtual_time::server {
public:
  model_server(virtual_time::timeline& time, dialect speaks) : time_(time), dialect_(speaks) {}

  void take(const request& q, reply done) override;

  /// While true, every request gets a 500, as without a leader.
  bool leaderless = false;
  /// It has the names of 0.2.0 (protocol/base/renamed_names.hpp), and none of the later ones.
  bool has_old_names = false;
  /// Its wall clock.
  std::chrono::system_clock::time_point wall() const {
    auto since = std::chrono::duration_cast<std::chrono::system_clock::duration>(time_.now().time_since_epoch());
    return std::chrono::system_clock::time_point(std::chrono::seconds(1'600'000'000)) + since;
  }
  /// Never responds.
  bool silent = false;
  /// Ends a session as an operator does.
  void destroy(const std::string& id) { end_session(id, "destroyed by operator"); }
  /// Empties the window of changes (docs/reference/changes.md).
  void forget_changes();
  /// Its cursors name this history, and it knows no other; 0: it is of 0.2.0.
  std::uint64_t history = 0;
  /// Maximum length of values in transactions.
  std::size_t value_bytes_max = 512 * 1024;
  class archive;
  archive save() const;
  /// Restores an archive.
  /// @param index the newest one before it: in another cluster it is lower
  void restore(const archive& a, std::uint64_t index, std::uint64_t history_then);
  std::uint64_t index() const { return index_; }
  std::uint64_t flags(const std::string& key) const;
  /// Keys whose names are not UTF-8, and how they are displayed.
  std::map<std::string, std::string> misnamed;
  std::map<std::string, std::string> all(const std::string& prefix) const;
  void erase(const std::string& key);
  std::set<std::string> sessions() const;
  /// The present holders of that key, or that claim; session IDs.
  std::vector<std::string> holders(const std::string& name) const;
  std::size_t waiting(const std::string& name) const;
  /// What a session holds or waits for: `key NAME`, `queue of NAME`, `claim NAME`.
  std::set<std::string> tied_to(const std::string& session) const;
  std::optional<std::string> value(const std::string& key) const;
  void put(const std::string& key, std::string value, std::optional<std::uint64_t> flags = std::nullopt);
  /// Writes all in one entry of the log.
  void put_together(const std::map<std::string, std::string>& values);
  std::size_t requests(const std::string& method_and_path_start) const;

  struct write {
    std::string who;
    std::uint64_t fence;
    instant when;
  };
  /// The writes to the store without a gate.
  const std::vector<write>& writes() const { return writes_; }

private:
  struct parsed {
    std::string path;
    std::map<std::string, std::string> query;
    bool has(const std::string& n) const { return query.count(n) > 0; }
    std::string at(const std::string& n) const {
      auto f = query.find(n);
      return f == query.end() ? std::string() : f->second;
    }
  };
  struct live_session {
    milliseconds ttl{0};
    milliseconds delay{0};
    instant renewed{};
    std::string on_end; ///< the list as it was sent
  };
  struct row {
    std::optional<std::string> value;
    std::uint64_t flags = 0;
    std::string session;
    std::uint64_t modify = 0;
    std::uint64_t create = 0;
    std::uint64_t fence = 0;
    std::uint64_t shown = 0; ///< index of the last reported change; 0: the key does not exist
    instant delayed_until{};
  };
  struct change {
    std::uint64_t index = 0;
    std::uint64_t number = 0; ///< within the entry
    std::string kind;
    std::string key;
    std::string value;
    std::uint64_t flags = 0;
    std::string session;
    std::uint64_t previous = 0;
  };
  struct waiter {
    std::string session;
    std::string id;
    std::string value;
    std::uint64_t flags = 0;
    std::uint64_t permits = 1;
    bool shared = false;
    instant deadline{};
    reply done;
    std::uint64_t ask = 0;
  };
  struct holder {
    std::string session;
    std::string id;
    std::string value;
    std::uint64_t permits = 1;
    bool shared = false;
    std::uint64_t fence = 0;
  };
  struct resource {
    std::string kind;
    std::uint64_t limit = 1;
    std::uint64_t modify = 0;
    std::vector<holder> holders;
    std::deque<waiter> queue;
  };
  struct parked {
    std::string path;
    std::uint64_t index = 0;
    std::function<std::optional<answer>(bool)> look;
    reply done;
  };

  static parsed parse(const std::string& target);
  std::string shown(const std::string& key) const {
    auto found = misnamed.find(key);
    return found == misnamed.end() ? key : found->second;
  }
  answer with_index(answer a, std::uint64_t index) const;
  answer with_date(answer a) const;
  answer boolean(bool made, std::uint64_t index) const;
  void expire(const std::string& id);
  void end_session(const std::string& id, std::string cause);
  void sessions_request(const parsed& p, const request& q, const reply& done);
  void key_request(const parsed& p, const request& q, const reply& done);
  void claim_request(const parsed& p, const request& q, const reply& done);
  bool settled(const parsed& p, const request& q, reply& done);
  void transaction(const request& q, const reply& done);
  /// @param results gets what is shown of it; may be null. @returns what is wrong; empty: done
  std::string do_operation(const std::string& op, std::uint64_t index, std::vector<std::string>* results);
  void stamp(const std::string& key, std::uint64_t index, const char* kind = "set");
  std::optional<answer> look_at_changes(const std::string& prefix, const std::string& cursor, bool snapshot,
                                        bool now) const;
  static bool fits(const resource& c, const waiter& w, const std::string& only);
  void read(const parsed& p, std::function<std::optional<answer>(bool)> look, const reply& done);
  std::optional<answer> look_at_key(const std::string& key, std::uint64_t index, bool now) const;
  std::optional<answer> look_at_prefix(const std::string& prefix, std::uint64_t index, bool now) const;
  std::optional<answer> look_at_claim(const std::string& name, std::uint64_t index, bool now) const;
  std::string json_of(const std::string& key, const row& r) const;
  answer claim_answer(const std::string& name, const std::string& id) const;
  void grant_keys(const std::string& key);
  void grant_claims(const std::string& name);
  void unlock(const std::string& key);
  void changed();

  virtual_time::timeline& time_;
  dialect dialect_;
  std::uint64_t index_ = 10;
  std::uint64_t next_session_ = 1;
  std::uint64_t next_ask_ = 1;
  std::map<std::string, live_session> sessions_;
  std::map<std::string, std::string> ended_;
  std::map<std::string, row> keys_;
  std::map<std::string, std::deque<waiter>> key_queues_;
  std::map<std::string, resource> claims_;
  std::set<std::string> ended_claims_;
  std::map<std::string, answer> outcomes_; ///< by idempotency key
  std::set<std::string> cancelled_;
  std::vector<parked> parked_;
  std::vector<change> changes_;
  std::uint64_t floor_ = 0;
  std::vector<write> writes_;
  std::map<std::string, std::size_t> counted_;

public:
  /// Keys with their indexes.
  class archive {
    friend model_server;
    std::map<std::string, row> keys_;
  };
};

} // namespace belay::client_tests
