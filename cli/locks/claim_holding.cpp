#include "cli/locks/claim_holding.hpp"

#include <algorithm>

namespace belay::cli {

namespace asio = boost::asio;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds open_within{10'000}, close_within{4'000};
/// At least: what is free is had, also if the session took all of the time.
constexpr milliseconds take_within{100};

class claim_holding final : public holding {
public:
  claim_holding(const asio::any_io_executor& executor, const api_target& target, const api_query& scope, hold_wish wish,
                const acquire_deadline& deadline)
      : held_(executor, target, scope.text()), wish_(std::move(wish)), deadline_(deadline) {}

  std::string key() const override { return wish_.name; }
  std::string fence() const override { return held_.fence() == 0 ? "" : std::to_string(held_.fence()); }
  void stop() override { held_.stop(); }
  std::string session() const override { return held_.session(); }
  lock_clock::time_point valid_until() const override {
    return lock_clock::now() + std::chrono::duration_cast<lock_clock::time_point::duration>(held_.safe_for());
  }
  bool over() const override { return held_.safe_for().count() <= 0; }

  asio::awaitable<status> begin(std::string name) override {
    const auto end = co_await held_.open(std::move(name), deadline_.limit(open_within));
    if (end.what != library_end::how::done)
      co_return failure{end.why};
    co_return done{};
  }
  /// The library does.
  asio::awaitable<void> keep() override { co_return; }
  asio::awaitable<void> end() override { return held_.close(deadline_.limit(close_within)); }

  asio::awaitable<result<bool>> acquire() override {
    const auto limit = deadline_.never() ? milliseconds(0) : std::max(deadline_.left(), take_within);
    const auto end = co_await held_.acquire(wish_, limit);
    if (end.what == library_end::how::failed)
      co_return failure{end.why};
    if (end.what == library_end::how::done)
      deadline_ = {};
    co_return end.what == library_end::how::done;
  }

  asio::awaitable<void> watch() override { return held_.lost(); }

  asio::awaitable<status> release() override {
    const auto end = co_await held_.release();
    if (end.what != library_end::how::done && !over()) // one that was lost needs no release
      co_return failure{end.why};
    co_return done{};
  }

  /// Nothing of a claim is left, and the library cleans up after itself where there are none.
  asio::awaitable<result<bool>> clean_up() override { co_return true; }

private:
  library_hold held_;
  hold_wish wish_;
  acquire_deadline deadline_; ///< none once it is held
};

} // namespace

std::unique_ptr<holding> make_claim_holding(const asio::any_io_executor& executor, const api_target& target,
                                            const api_query& scope, hold_wish wish, const acquire_deadline& deadline) {
  return std::make_unique<claim_holding>(executor, target, scope, std::move(wish), deadline);
}

} // namespace belay::cli
