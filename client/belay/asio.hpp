#pragma once
// The library for programs that have a Boost.Asio executor: calls that take a completion token.
//
// Recipes, renewals and callbacks of client_lease::lost() run on a strand of that executor. The
// sockets are on a thread of the transport, so this header needs only Asio, 1.78 or later,
// whichever version the library was built with. An executor that stalls for longer than the TTL
// loses the session.
//
// A call completes with void(result<T>): done, refused or unknown (docs/guides/client.md). run() and
// update(), which call your functions, complete with void(std::exception_ptr, result<T>). Handlers
// run on their associated executor, by default the client's. code_of() makes an error_code of an
// error. A call ends client_options::grace after its limit at the latest. Cancellation ends it
// soon: a waiter leaves its queue and releases what it was granted. A cancelled write may have
// taken effect, and does not support total cancellation. During a call or a session, the executor
// has work: io_context::run() returns after close() or the destructor. A client must not outlive
// its context.

#include <belay/client.hpp>
#include <belay/counter.hpp>
#include <belay/keys.hpp>
#include <belay/loops/hosted.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {
namespace asio {

namespace net = ::boost::asio;

/// Values are those of belay::reason, plus 100 if the outcome is unknown.
class error_category_of_belay final : public ::boost::system::error_category {
public:
  const char* name() const noexcept override { return "belay"; }
  std::string message(int value) const override {
    bool unknown = value > unknown_too;
    return std::string(unknown ? "unknown: " : "refused: ") +
           std::string(name_of(static_cast<reason>(unknown ? value - unknown_too : value)));
  }
  static constexpr int unknown_too = 100;
};

inline const ::boost::system::error_category& error_category() {
  static const error_category_of_belay it;
  return it;
}

/// The error as a code, for interfaces that take codes only; the text is lost.
inline ::boost::system::error_code code_of(const error& e) {
  auto value = static_cast<int>(e.reason());
  if (e.outcome() == outcome::unknown)
    value += error_category_of_belay::unknown_too;
  return ::boost::system::error_code(value, error_category());
}
/// No error if the call is done.
template <class T>
::boost::system::error_code code_of(const result<T>& r) {
  return r ? ::boost::system::error_code() : code_of(r.error());
}
/// Whether a code of this category means that the outcome is unknown.
inline bool is_unknown(const ::boost::system::error_code& code) noexcept {
  return code.category() == error_category() && code.value() > error_category_of_belay::unknown_too;
}

namespace detail {

struct host;
using host_ptr = std::shared_ptr<host>;

/// The clients of a context. Destroying the context destroys them and their calls, uncompleted.
class hosts final : public net::execution_context::service {
public:
  inline static net::execution_context::id id;
  explicit hosts(net::execution_context& owner) : net::execution_context::service(owner) {}
  void enter(const host_ptr& h) {
    std::lock_guard guard(lock_);
    std::erase_if(all_, [](const auto& each) { return each.expired(); });
    all_.push_back(h);
  }

private:
  void shutdown() override;

  std::mutex lock_;
  std::vector<std::weak_ptr<host>> all_;
};

/// A strand and the library's client that runs on it.
struct host {
  host(const net::any_io_executor& on, client_options options, std::shared_ptr<transport> over)
      : strand(net::make_strand(on)), core(loop_on(strand), std::move(options), std::move(over)) {}
  static host_ptr made(const net::any_io_executor& on, client_options options, std::shared_ptr<transport> over) {
    auto h = std::make_shared<host>(on, std::move(options), std::move(over));
    net::use_service<hosts>(net::query(h->strand, net::execution::context)).enter(h);
    return h;
  }

  static host_loop loop_on(const net::any_io_executor& strand) {
    host_loop loop;
    loop.post = [strand](std::function<void()> what) { net::post(strand, std::move(what)); };
    loop.wake = [timer = std::make_shared<net::steady_timer>(strand)](instant at, std::function<void()> tick) {
      if (!tick) {
        timer->cancel();
        return;
      }
      // Timers stop during a suspension, the clock of sessions does not: check it every 5 s.
      auto length = std::clamp<std::chrono::nanoseconds>(at - lease_clock::now(), std::chrono::nanoseconds(0),
                                                         std::chrono::seconds(5));
      timer->expires_after(length);
      timer->async_wait([tick = std::move(tick)](const ::boost::system::error_code& cancelled) {
        if (!cancelled)
          tick();
      });
    };
    return loop;
  }

  net::any_io_executor strand;
  hosted_client core;
};

inline void hosts::shutdown() {
  for (const auto& each : std::exchange(all_, {}))
    if (auto h = each.lock())
      h->core.abandon();
}

/// A handler that is called once, on its own executor.
template <class Handler>
class pending {
public:
  using executor = net::associated_executor_t<Handler, net::any_io_executor>;

  pending(Handler h, const net::any_io_executor& by_default)
      : handler_(std::move(h)), work_(net::get_associated_executor(handler_, by_default)), host_work_(by_default) {}

  auto slot() const noexcept { return net::get_associated_cancellation_slot(handler_); }
  /// @param self keeps the object alive until then
  template <class... Results>
  static void complete(std::shared_ptr<pending> self, Results... results) {
    auto on = self->work_.get_executor();
    auto allocator = net::get_associated_allocator(self->handler_);
    auto call = [self = std::move(self), ... results = std::move(results)]() mutable {
      if (auto s = self->slot(); s.is_connected())
        s.clear();
      auto handler = std::move(self->handler_);
      self.reset();
      std::move(handler)(std::move(results)...);
    };
    net::post(on, net::bind_allocator(allocator, std::move(call)));
  }

private:
  Handler handler_;
  net::executor_work_guard<executor> work_;
  net::executor_work_guard<net::any_io_executor> host_work_;
};

/// How a call completes.
template <class T>
struct with_result {
  using signature = void(result<T>);
  template <class Op>
  static void complete(Op op, const std::exception_ptr&, result<T> r) {
    Op::element_type::complete(std::move(op), std::move(r));
  }
};
template <class T>
struct with_exception {
  using signature = void(std::exception_ptr, result<T>);
  template <class Op>
  static void complete(Op op, std::exception_ptr thrown, result<T> r) {
    Op::element_type::complete(std::move(op), thrown, std::move(r));
  }
};

/// What cancels a call. Calls that leave no effect support every kind of cancellation.
constexpr auto any_cancellation =
    net::cancellation_type::terminal | net::cancellation_type::partial | net::cancellation_type::total;
constexpr auto cancellation_of_writes = net::cancellation_type::terminal | net::cancellation_type::partial;

/// Arranges that `cancel` is called for these kinds of cancellation.
template <class Slot, class F>
void on_cancellation(Slot slot, net::cancellation_type which, F cancel) {
  if (slot.is_connected())
    slot.assign([which, cancel = std::move(cancel)](net::cancellation_type requested_type) {
      if ((requested_type & which) != net::cancellation_type::none)
        cancel();
    });
}

template <class T, template <class> class How = with_result, class Token>
auto begin(host_ptr h, hosted_client::making<T> make, bool with_session, milliseconds within,
           net::cancellation_type cancels, Token&& token) {
  return net::async_initiate<Token, typename How<T>::signature>(
      [](auto handler, const host_ptr& h, hosted_client::making<T> make, bool with_session, milliseconds within,
         net::cancellation_type cancels) {
        auto op = std::make_shared<pending<decltype(handler)>>(std::move(handler), h->strand);
        auto number = h->core.next_number();
        on_cancellation(op->slot(), cancels, [weak = std::weak_ptr<host>(h), number] {
          if (auto h = weak.lock())
            h->core.stop(number);
        });
        net::dispatch(h->strand, [h, op, number, make = std::move(make), with_session, within]() mutable {
          h->core.template begin<T>(
              number, std::move(make), with_session, within,
              [op](std::exception_ptr thrown, result<T> r) { How<T>::complete(op, thrown, std::move(r)); });
        });
      },
      token, std::move(h), std::move(make), with_session, within, cancels);
}

} // namespace detail

/// A lock, permits or a leadership. It releases itself when it goes out of scope. From any thread,
/// except functions with a token: on the client's executor, or while nothing else uses it.
class client_lease {
public:
  client_lease() = default;
  client_lease(detail::host_ptr h, belay::client_lease it)
      : host_(std::move(h)), it_(std::make_shared<belay::client_lease>(std::move(it))) {}

  /// lease::fence(), the fencing token
  std::uint64_t fence() const noexcept { return it_ ? it_->fence() : 0; }
  /// lease::safe_until(). Each renewal extends it.
  instant safe_until() const noexcept { return it_ ? it_->safe_until() : instant(); }
  /// Whether safe_until() is in the future.
  bool safe() const noexcept { return it_ && it_->safe(); }
  /// Requests a stop, on the client's executor, when the lock is lost. @pre not default-constructed
  std::stop_token lost() const { return it_->lost(); }
  /// Why it was lost; empty if it was not.
  std::string lost_reason() const { return it_ ? it_->lost_reason() : "nothing is held"; }

  /// void(std::string): why it was lost; empty: released or cancelled. @pre not default-constructed
  template <class Token>
  auto wait_lost(Token&& token) const {
    return net::async_initiate<Token, void(std::string)>(
        [](auto handler, const detail::host_ptr& h, const std::shared_ptr<belay::client_lease>& it) {
          auto op = std::make_shared<detail::pending<decltype(handler)>>(std::move(handler), h->strand);
          // Loss and cancellation are both handled on the strand.
          auto watched = std::make_shared<std::uint64_t>(0);
          auto cancelled = std::make_shared<bool>(false);
          std::weak_ptr<belay::client_lease> weak = it;
          std::weak_ptr<detail::host> weak_host = h;
          std::weak_ptr waits = op;
          auto forget = [weak_host, weak, waits, watched, cancelled] {
            auto h = weak_host.lock();
            auto it = weak.lock();
            auto op = waits.lock();
            if (!op || std::exchange(*cancelled, true))
              return;
            if (h && it)
              h->core.forget_watch(*it, *watched);
            op->complete(op, std::string());
          };
          detail::on_cancellation(op->slot(), detail::any_cancellation,
                                  [strand = h->strand, forget] { net::post(strand, forget); });
          net::dispatch(h->strand, [h, it, weak, op, watched, cancelled] {
            if (!*cancelled)
              *watched = h->core.watch(*it, [weak, op, cancelled] {
                if (std::exchange(*cancelled, true))
                  return;
                auto it = weak.lock();
                op->complete(op, it ? it->lost_reason() : std::string());
              });
          });
        },
        token, host_, it_);
  }
  /// void(status): releases it.
  template <class Token>
  auto release(milliseconds within, Token&& token) {
    return detail::begin<nothing>(host_, host_->core.release(*it_), false, within, detail::cancellation_of_writes,
                                  std::forward<Token>(token));
  }

private:
  friend class client;
  detail::host_ptr host_;
  std::shared_ptr<belay::client_lease> it_;
};

class client {
public:
  using executor_type = net::any_io_executor;
  using limit = milliseconds;
  template <class T>
  using making = hosted_client::making<T>;

  /// Sends nothing.
  /// @param over null: the library's own transport
  explicit client(const executor_type& on, client_options options = client_options(),
                  std::shared_ptr<transport> over = nullptr)
      : host_(detail::host::made(on, std::move(options), std::move(over))) {}
  template <class Context>
  requires std::is_convertible_v<Context&, net::execution_context&>
  explicit client(Context& context, client_options options = client_options(),
                  std::shared_ptr<transport> over = nullptr)
      : client(executor_type(context.get_executor()), std::move(options), std::move(over)) {}

  /// Starts to close: calls end with reason::closed. While the executor runs, leases are released
  /// and the session is ended, for client_options::linger at most.
  ~client() {
    if (host_)
      host_->core.close_soon();
  }
  client(client&&) noexcept = default;
  client& operator=(client&&) = delete;

  /// A strand. Recipes that you use directly must run on it.
  executor_type get_executor() const noexcept { return host_->strand; }
  /// The environment for recipes that you use directly, on that executor, until close().
  environment& env() const { return host_->core.env(); }

  class lock_of {
  public:
    lock_of(detail::host_ptr h, making<belay::client_lease> make) : host_(std::move(h)), make_(std::move(make)) {}
    /// void(result<client_lease>)
    template <class Token>
    auto acquire(limit within, Token&& token) {
      return detail::begin<client_lease>(host_, shown(host_, make_), true, within, detail::any_cancellation,
                                         std::forward<Token>(token));
    }

  private:
    detail::host_ptr host_;
    making<belay::client_lease> make_;
  };
  /// belay::mutex
  lock_of lock(std::string key, mutex_options options = mutex_options()) {
    return lock_of(host_, host_->core.lock(std::move(key), std::move(options)));
  }
  /// belay::semaphore
  lock_of semaphore(std::string name, std::uint64_t max, std::uint64_t permits = 1, recipe how = recipe::automatic) {
    return lock_of(host_, host_->core.permits(std::move(name), max, permits, how));
  }
  /// belay::election: void(result<client_lease>)
  template <class Token>
  auto campaign(std::string name, std::string value, limit within, Token&& token) {
    return lock_of(host_, host_->core.campaign(std::move(name), std::move(value)))
        .acquire(within, std::forward<Token>(token));
  }
  /// void(status)
  template <class Token>
  auto transfer(const client_lease& held, std::string name, limit within, Token&& token) {
    return detail::begin<nothing>(host_, host_->core.transfer(*held.it_, std::move(name)), true, within,
                                  detail::cancellation_of_writes, std::forward<Token>(token));
  }

  /// void(result<reading>)
  template <class Token>
  auto get(std::string key, limit within, Token&& token) {
    making<reading> make = [key = std::move(key)](session& s, deadline p) { return read_key(s.env(), key, p); };
    return detail::begin<reading>(host_, std::move(make), false, within, detail::any_cancellation,
                                  std::forward<Token>(token));
  }
  /// void(status)
  template <class Token>
  auto put(std::string key, std::string value, limit within, Token&& token) {
    making<nothing> make = [key = std::move(key), value = std::move(value)](session& s, deadline p) {
      return put_key(s.env(), key, value, p);
    };
    return detail::begin<nothing>(host_, std::move(make), false, within, detail::cancellation_of_writes,
                                  std::forward<Token>(token));
  }
  /// void(std::exception_ptr, result<std::string>).
  /// @param fn runs on the client's executor
  template <class Token>
  auto update(std::string key, change fn, limit within, Token&& token) {
    making<std::string> make = [key = std::move(key), fn = std::move(fn)](session& s, deadline p) {
      return belay::update(s.env(), key, fn, p);
    };
    return detail::begin<std::string, detail::with_exception>(
        host_, std::move(make), false, within, detail::cancellation_of_writes, std::forward<Token>(token));
  }
  /// void(std::exception_ptr, result<T>): runs your coroutine on the client's executor, with the
  /// session open. It is destroyed at an await client_options::grace after limit or cancellation.
  template <class T, class Token>
  auto run(making<T> make, limit within, Token&& token) {
    return detail::begin<T, detail::with_exception>(host_, std::move(make), true, within, detail::any_cancellation,
                                                    std::forward<Token>(token));
  }

  /// void(status): releases everything and ends the session. Calls end with reason::closed.
  template <class Token>
  auto close(limit within, Token&& token) {
    return net::async_initiate<Token, void(status)>(
        [](auto handler, const detail::host_ptr& h, limit within) {
          auto op = std::make_shared<detail::pending<decltype(handler)>>(std::move(handler), h->strand);
          net::post(h->strand,
                    [h, op, within] { h->core.close(within, [op](status how) { op->complete(op, std::move(how)); }); });
        },
        token, host_, within);
  }

private:
  static task<result<client_lease>> show(detail::host_ptr h, making<belay::client_lease> make, session& s, deadline p) {
    task<result<belay::client_lease>> taking = make(s, p);
    result<belay::client_lease> taken = co_await taking;
    if (!taken)
      co_return taken.error();
    client_lease out(h, std::move(*taken));
    co_return std::move(out);
  }
  static making<client_lease> shown(detail::host_ptr h, making<belay::client_lease> make) {
    return [h = std::move(h), make = std::move(make)](session& s, deadline p) { return show(h, make, s, p); };
  }

  detail::host_ptr host_;
};

} // namespace asio
} // namespace v0
} // namespace belay
