#pragma once
// A client agent's cache: what servers answered before, for those who ask with `?cached` (docs/contract/06, section 2). Everything else it
// hands on to the relay behind it. What one token was told no other one is told.

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

  /// Each has one connection to a server, on which it waits for a change. A server takes 200 from one host by default, and others are for
  /// requests (limits.http_max_conns_per_client).
  std::size_t entries_max = 100;
  std::size_t bytes_max = 64u << 20;          ///< of all answers, with those that are coming
  std::size_t answer_bytes_max = 1u << 20;    ///< larger ones are passed on and not kept
  std::chrono::seconds unused_limit{3600};    ///< what nobody asked for so long is forgotten (Consul: three days)
  std::chrono::seconds refresh_wait{60};      ///< so long a change of a token's rights may go unnoticed
  std::chrono::milliseconds refresh_gap{100}; ///< between two questions for an entry
  std::chrono::milliseconds retry_first{1000}, retry_at_last{10'000};
  std::function<clock::time_point()> now = [] { return clock::now(); };
};

class cached_answers final : public request_relay {
public:
  /// @param servers outlives it
  explicit cached_answers(request_relay& servers, cached_answers_settings settings = {});
  ~cached_answers() override;

  std::unique_ptr<relayed_call> begin(relayed_request r, answer_listener& listener) override;
  void later(std::function<void()> what) override { servers_.later(std::move(what)); }
  /// Ends waits that are over, asks again, forgets what nobody uses: several times a second.
  void tick();

  std::size_t size() const { return entries_.size(); }
  /// Of answers, kept and coming.
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
    clock::time_point fetched, used, asked;
    std::optional<clock::time_point> lost_contact;
    std::chrono::milliseconds pause{0}; ///< after failures
    std::unique_ptr<question> asks;     ///< null: nobody is asked now
    std::list<waiting*> waits;
  };
  using place = std::map<key, entry>::iterator;

  bool serves(const entry& e, const http::cached_read& r) const;
  std::optional<place> place_for(const relayed_request& r);
  bool make_room(const entry* but_for, std::size_t entries, std::size_t bytes);
  void ask(place at);
  bool comes(question& q, std::size_t bytes);
  void answered(question& q);
  void refused(question& q, bool has_failed);
  void too_large(question& q);
  void forget(place at);
  void leave(waiting& w);
  place place_of(const question& q);
  header_list marked(const entry& e, const answer& a, bool hit) const;

  request_relay& servers_;
  cached_answers_settings settings_;
  std::map<key, entry> entries_;
  std::size_t bytes_ = 0;
};

} // namespace belay::actors
