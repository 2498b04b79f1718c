#pragma once
// A client agent's cache: earlier answers of servers, for requests with `?cached`
// (docs/contract/06, section 2). Others go to the relay behind it. It separates answers by token.

#include "actors/relay/request_relay.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace belay::actors {

struct cached_answers_settings {
  using clock = std::chrono::steady_clock;

  /// Each uses a connection to a server, on which it waits for a change. Clients' requests share
  /// what relay_limits allows for such waits.
  std::size_t entries_max = 100;
  std::size_t bytes_max = 64u << 20;          ///< limit for all answers, including those being received
  std::size_t answer_bytes_max = 1u << 20;    ///< larger ones are passed on and not kept
  std::chrono::seconds unused_limit{3600};    ///< entries unused for this long are dropped (Consul: three days)
  std::chrono::seconds refresh_wait{60};      ///< longest time until a change of a token's permissions is noticed
  std::chrono::milliseconds refresh_gap{100}; ///< between two requests for an entry
  std::chrono::milliseconds retry_first{1000}, retry_at_last{10'000};
  std::function<clock::time_point()> now = [] { return clock::now(); };
};

class cached_answers final : public request_relay {
public:
  /// @param servers must outlive this object
  explicit cached_answers(request_relay& servers, cached_answers_settings settings = {});
  ~cached_answers() override;

  std::unique_ptr<relayed_call> begin(relayed_request r, answer_listener& listener) override;
  void later(std::function<void()> what) override { servers_.later(std::move(what)); }
  /// Ends waits past their deadlines, retries, drops unused entries: several times a second.
  void tick();

  std::size_t size() const { return entries_.size(); }
  /// Bytes of answers, kept or being received.
  std::size_t bytes() const { return bytes_; }

private:
  using clock = cached_answers_settings::clock;
  using key = std::pair<std::string, std::string>; ///< secret, target
  class waiting;
  class question;

  struct answer {
    header_list headers;
    std::string body;
    std::uint64_t index = 0;

    std::size_t bytes() const;
  };

  struct entry {
    bool refreshed = true;
    std::shared_ptr<const answer> kept; ///< null: nothing yet
    clock::time_point fetched, used, requested;
    std::optional<clock::time_point> lost_contact;
    std::chrono::milliseconds pause{0}; ///< after failures
    std::unique_ptr<question> asks;     ///< null: no request is pending
    std::list<waiting*> waits;
  };
  /// What a client gets; it may be gone by then.
  struct delivery {
    waiting* to;
    std::weak_ptr<const char> alive;
    std::shared_ptr<const answer> what;
    header_list headers;
  };
  using entry_iterator = std::map<key, entry>::iterator;

  bool serves(const entry& e, const http::cached_read& r) const;
  std::optional<entry_iterator> find_or_insert(const relayed_request& r);
  bool free_space(const entry* but_for, std::size_t entries, std::size_t bytes);
  void ask(entry_iterator at);
  bool comes(question& q, std::size_t bytes);
  void answered(question& q);
  void refused(question& q, bool has_failed);
  void too_large(question& q);
  void forget(entry_iterator at);
  void leave(waiting& w);
  void leave_all(const std::vector<delivery>& served);
  entry_iterator find_entry(const question& q);
  header_list marked(const entry& e, const answer& a, bool hit) const;

  request_relay& servers_;
  cached_answers_settings settings_;
  std::map<key, entry> entries_;
  std::size_t bytes_ = 0;
};

} // namespace belay::actors
