#pragma once
// The library for programs with threads: blocking calls.
//
// A client has one thread, which runs all code of the program (callbacks, functions, coroutines),
// and one session, opened when it is first needed. Recipes run on that thread, or for a millisecond
// or two on a thread that waits in a call. Calls are thread-safe. Each has a limit; if it has not
// ended `grace` later, it is destroyed. The destructor ends the session, for `linger` at most.
//
// After a fork the child's copy is closed. Its calls are refused with reason::closed, nothing is
// held (client_lease::safe() is false), and destructors leave everything to the parent.

#include <belay/election.hpp>
#include <belay/keys.hpp>
#include <belay/mutex.hpp>
#include <belay/near_cache.hpp>
#include <belay/semaphore.hpp>
#include <belay/session.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {

struct client_options {
  /// `http://HOST:PORT`, `https://HOST:PORT`, `unix:///PATH`. Keeps using one that responds.
  std::vector<std::string> servers = {"http://127.0.0.1:8500"};
  std::string token;
  std::string ca_file; ///< CA certificates for https; empty: those of the system
  std::string cert_file;
  std::string key_file;
  bool verify_server = true;
  /// Name, TTL, lock delay and mode of the session.
  session_options session;
  std::size_t connections_max = 64;
  /// Requests in progress or waiting for a connection; more are refused with reason::limit.
  std::size_t waiting_max = 1024;
  std::chrono::milliseconds grace{500};
  std::chrono::milliseconds linger{1000};
};

namespace detail {
class client_parts;
class face;
class lease_parts;
class cache_parts;

template <class T>
task<void> fill(std::function<task<result<T>>(session&, deadline)> make, std::shared_ptr<std::optional<result<T>>> out,
                session& s, deadline p) {
  task<result<T>> made = make(s, p);
  result<T> r = co_await made;
  out->emplace(std::move(r));
}
} // namespace detail

class hosted_client;

/// A lock, permits or a leadership, for any thread. Releases itself at the end of its scope,
/// without waiting.
class client_lease {
public:
  client_lease() = default;
  client_lease(client_lease&&) noexcept = default;
  client_lease& operator=(client_lease&& other) noexcept;
  ~client_lease();

  /// lease::fence(), the fencing token
  std::uint64_t fence() const noexcept;
  /// lease::safe_until(). Each renewal extends it.
  instant safe_until() const noexcept;
  /// Whether safe_until() is in the future. Cheap: compares two numbers with the clock.
  bool safe() const noexcept;
  /// Stop is requested when the lease is lost. Callbacks run on the client's thread: they must be
  /// short, must not call the client, and must not destroy this.
  std::stop_token lost() const;
  /// Why it was lost; empty if it was not.
  std::string lost_reason() const;
  /// Releases it and waits for the response. Only for leases of belay::client.
  status release(std::chrono::milliseconds limit = std::chrono::seconds(5));

private:
  friend class detail::client_parts;
  friend class client;
  friend class hosted_client;
  explicit client_lease(std::shared_ptr<detail::lease_parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<detail::lease_parts> parts_;
};

/// The cached keys under a prefix. Lookups take no lock and send no request.
class cache {
public:
  class shown {
  public:
    shown(std::shared_ptr<const key_table> table, const entry* found, std::chrono::nanoseconds age)
        : table_(std::move(table)), found_(found), age_(age) {}
    /// Null if there is no such key.
    const entry* found() const noexcept { return found_; }
    /// Upper bound on how long ago the server had this state.
    std::chrono::nanoseconds age() const noexcept { return age_; }

  private:
    std::shared_ptr<const key_table> table_;
    const entry* found_;
    std::chrono::nanoseconds age_;
  };
  /// nullopt: nothing has been read yet, or the cache is older than
  /// near_cache_options::stale_if_error.
  std::optional<shown> get(std::string_view key) const;
  /// Waits until get() has something to return.
  status wait(std::chrono::milliseconds limit) const;

private:
  friend class detail::client_parts;
  friend class client;
  explicit cache(std::shared_ptr<detail::cache_parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<detail::cache_parts> parts_;
};

class client {
public:
  using limit = std::chrono::milliseconds;

  explicit client(client_options options = client_options());
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// What is wrong with the options. If they are wrong, all calls are refused with this error.
  const error& wrong() const;

  class lock_of {
  public:
    lock_of(client& c, std::string key, mutex_options options)
        : client_(c), key_(std::move(key)), options_(std::move(options)) {}
    result<client_lease> acquire(limit within, std::stop_token stop = {});

  private:
    client& client_;
    std::string key_;
    mutex_options options_;
  };
  /// belay::mutex
  lock_of lock(std::string key, mutex_options options = mutex_options()) {
    return lock_of(*this, std::move(key), std::move(options));
  }

  class permits_of {
  public:
    permits_of(client& c, std::string name, std::uint64_t max, recipe how)
        : client_(c), name_(std::move(name)), max_(max), how_(how) {}
    result<client_lease> acquire(limit within, std::stop_token stop = {}) {
      return acquire(1, within, std::move(stop));
    }
    result<client_lease> acquire(std::uint64_t permits, limit within, std::stop_token stop = {});

  private:
    client& client_;
    std::string name_;
    std::uint64_t max_;
    recipe how_;
  };
  /// belay::semaphore
  permits_of semaphore(std::string name, std::uint64_t max, recipe how = recipe::automatic) {
    return permits_of(*this, std::move(name), max, how);
  }

  class leadership_of {
  public:
    leadership_of(client& c, std::string name, recipe how) : client_(c), name_(std::move(name)), how_(how) {}
    result<client_lease> campaign(std::string value, limit within, std::stop_token stop = {});
    status transfer(client_lease& held, limit within = std::chrono::seconds(5));
    /// The current leader; nullopt if there is none.
    result<std::optional<leader>> leader_now(limit within = std::chrono::seconds(5));

  private:
    client& client_;
    std::string name_;
    recipe how_;
  };
  /// belay::election
  leadership_of election(std::string name, recipe how = recipe::automatic) {
    return leadership_of(*this, std::move(name), how);
  }

  result<reading> get(std::string key, limit within = std::chrono::seconds(5));
  status put(std::string key, std::string value, limit within = std::chrono::seconds(5));
  result<std::string> update(std::string key, change fn, limit within = std::chrono::seconds(5),
                             std::stop_token stop = {});
  result<erased> erase_if(std::string key, std::uint64_t index, limit within = std::chrono::seconds(5));
  /// belay::counter. @returns the number after the addition
  result<std::int64_t> add(std::string key, std::int64_t n, limit within = std::chrono::seconds(5));
  /// belay::near_cache. Follows the prefix until the client is destroyed.
  belay::cache follow(std::string prefix, near_cache_options options = near_cache_options());

  /// Runs your coroutine on the client's thread. The session is open when `make` is called.
  template <class T>
  result<T> run(std::function<task<result<T>>(session&, deadline)> make, limit within,
                const std::stop_token& stop = {}) {
    auto out = std::make_shared<std::optional<result<T>>>();
    auto filled = [make, out](session& s, deadline p) { return detail::fill<T>(make, out, s, p); };
    error why = run_until_done(filled, true, within, stop);
    if (*out)
      return std::move(**out);
    return why;
  }

private:
  using job = std::function<task<void>(session&, deadline)>;
  /// @returns why there is no result
  error run_until_done(job make, bool with_session, limit within, std::stop_token stop);

  std::shared_ptr<detail::client_parts> parts_;
};

} // namespace v0
} // namespace belay
