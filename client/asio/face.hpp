#pragma once
// What the public clients have in common: one session, its leases, and calls, each a coroutine.
// Everything is used on one loop, unless documented otherwise.

#include "client/core/asking.hpp"
#include "client/core/taking.hpp"

#include <belay/client.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unistd.h>

namespace belay {
inline namespace v0 {
namespace detail {

/// The error of calls on a closed client, and in the child of a fork.
error closed_error();

class face;

/// What callers see of a lease: written by the loop, read by all threads.
class lease_parts {
public:
  lease_parts(std::weak_ptr<face> c, lease h) : owner(std::move(c)), it(std::move(h)), fence(it.fence()) {}

  std::weak_ptr<face> owner;
  lease it; ///< used on the loop only
  std::uint64_t fence;
  std::atomic<std::int64_t> safe_until{0};
  pid_t pid = ::getpid();
  std::stop_source lost;
  std::mutex lock; ///< protects `lost_reason`
  std::string lost_reason;
  /// Each is called once on the loop, when the lease is lost or released.
  std::map<std::uint64_t, std::function<void()>> watchers;
};

using lease_ptr = std::shared_ptr<lease_parts>;

using job = std::function<task<void>(session&, deadline)>;
template <class T>
using making = std::function<task<result<T>>(session&, deadline)>;

/// A call in progress.
class call {
public:
  virtual ~call() = default;
  /// Reports its end. The caller of end() destroys the call afterwards.
  virtual void end(std::exception_ptr thrown = nullptr) = 0;

  stop_source stop;
  error why{outcome::unknown, reason::deadline, "the call did not end in time"};
  task<void> running;
};

/// Which code a call runs: the library's, or the program's, which runs on one documented thread.
enum class whose { library, program };

using call_ptr = std::shared_ptr<call>;

class face : public std::enable_shared_from_this<face> {
public:
  explicit face(client_options o) : options(std::move(o)) {
    options.grace = at_most_a_year(options.grace);
    options.linger = at_most_a_year(options.linger);
  }
  virtual ~face() = default;

  /// Runs it on the loop, soon. May be called from any thread.
  virtual void post(std::function<void()> what) = 0;
  /// The same for code of the program: on the thread where callbacks are documented to run.
  virtual void call_back(std::function<void()> what) { post(std::move(what)); }
  /// Waits for the loop; call it from any thread except the loop's. Throws what the job threw.
  /// @returns why there is no result
  virtual error run(whose code, job make, bool with_session, milliseconds within, std::stop_token stop) = 0;
  /// The same, with a result.
  template <class T>
  result<T> run_for(making<T> make, bool with_session, milliseconds within, const std::stop_token& stop = {},
                    whose code = whose::library) {
    auto out = std::make_shared<std::optional<result<T>>>();
    auto filled = [make = std::move(make), out](session& s, deadline p) { return detail::fill<T>(make, out, s, p); };
    error why = run(code, std::move(filled), with_session, within, stop);
    if (*out)
      return std::move(**out);
    return why;
  }
  bool usable() const { return pid == ::getpid() && !closed.load(); }

  void live_in(environment& env);
  void begin(const call_ptr& c, job make, bool with_session, instant until);
  /// Updates all leases: until when they are safe, and whether they are lost.
  void notify_watchers();
  void notify_watchers(lease_parts& h);
  void lose(lease_parts& h, const std::string& why);
  void forget(const lease_ptr& h);
  /// Ends calls; releases all leases, and reports them as lost.
  void end_all();

  // Jobs.
  making<lease_ptr> kept(making<lease> make);
  static making<lease> lock(std::string key, mutex_options how);
  static making<lease> permits(std::string name, std::uint64_t max, recipe how, std::uint64_t wanted);
  static making<lease> leadership(std::string name, recipe how, std::string value);
  making<nothing> transfer_job(lease_ptr h, std::string name, recipe how);
  making<nothing> release_job(lease_ptr h);

  client_options options;
  pid_t pid = ::getpid();
  std::atomic<bool> closed{false};
  std::unique_ptr<shared_session> held_by;
  std::set<lease_ptr> leases;
  std::set<call_ptr> calls;
};

} // namespace detail
} // namespace v0
} // namespace belay
