#include "cli/recipes/library_group.hpp"

#include "cli/recipes/command_world.hpp"
#include "cli/recipes/library_errors.hpp"
#include "cli/recipes/running_task.hpp"
#include "cli/recipes/telling.hpp"

#include <belay/consumer.hpp>
#include <belay/session.hpp>

namespace belay::cli {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto session_within = 10s;
constexpr auto acknowledge_within = 30s;
constexpr auto leave_within = 5s;
constexpr auto try_again_after = 1s;

session_options options_of_member(std::string name) {
  session_options o;
  o.name = std::move(name);
  return o;
}

consumer_options options_of_group(const group_order& order) {
  consumer_options o;
  o.ack_wait = order.again_after;
  o.tries_max = order.tries_max;
  return o;
}

} // namespace

struct library_group::parts {
  parts(const asio::any_io_executor& executor, const api_target& target, std::string scope, const group_order& order)
      : sockets(executor, target, std::move(scope)), member(sockets, options_of_member(order.session_name)),
        group(member, order.prefix, order.name, options_of_group(order)), running(executor), watching(executor) {
    // What next() waits for is no more this member's then.
    member.on_change([this] {
      if (member.state() == session_state::lost)
        interrupted.stop();
    });
  }

  task<void> fetch(told_delivery& out) {
    while (!leaving) {
      interrupted.reset();
      status ready = co_await have_session();
      if (ready && member.safe()) {
        patience limit(sockets.now() + for_ever, &interrupted);
        belay::v0::result<delivery> got = co_await group.next(limit);
        if (got) {
          keep(*got, out);
          co_return;
        }
        ready = got.why();
      }
      const auto why = ready.because();
      const bool again = ready || why == reason::session || why == reason::stopped || why == reason::deadline;
      if (!again && !passes(ready.why())) {
        end = end_of(ready.why());
        co_return;
      }
      auto later = sockets.now() + try_again_after;
      co_await sleep_until(sockets, later, &interrupted);
    }
    end = {library_end::how::given_up, {}};
  }

  task<status> have_session() {
    if (member.state() != session_state::closed && member.state() != session_state::lost)
      co_return nothing();
    patience limit(sockets.now() + session_within, &interrupted);
    status opened = co_await member.open(limit);
    co_return opened;
  }

  void keep(delivery& got, told_delivery& out) {
    end = {};
    no_work.reset();
    out.what.is_snapshot = got.is_snapshot;
    out.what.place = got.place;
    out.dead = position_of(got.place);
    out.what.changes = told(std::move(got.changes));
    out.tries = got.tries;
    out.fence = group.fence();
    place = got.place;
  }

  task<void> acknowledge() {
    patience limit(sockets.now() + acknowledge_within);
    status done = co_await group.ack(place, limit);
    end = done ? library_end() : end_of(done.why());
  }

  task<void> wait_for_loss() {
    auto never = sockets.now() + for_ever;
    co_await sleep_until(sockets, never, &member.ended(), &no_work);
  }

  task<void> leave() {
    patience limit(sockets.now() + leave_within);
    status left = co_await group.leave(limit);
    status closed = co_await member.close(limit);
  }

  command_world sockets;
  bool leaving = false;
  stopper interrupted; ///< what next() waits for
  stopper no_work;
  session member;
  consumer group;
  std::string place; ///< of the last delivery
  library_end end;
  running_task running, watching;
};

library_group::library_group(const asio::any_io_executor& executor, const api_target& target, std::string scope,
                             const group_order& order)
    : parts_(std::make_unique<parts>(executor, target, std::move(scope), order)) {}

library_group::~library_group() = default;

void library_group::on_trouble(std::function<void(const std::string&)> told) {
  parts_->sockets.on_trouble(std::move(told));
}

asio::awaitable<library_end> library_group::next(told_delivery& out) {
  auto fetching = parts_->fetch(out);
  co_await parts_->running.run(std::move(fetching));
  co_return parts_->end;
}

asio::awaitable<library_end> library_group::acknowledge() {
  auto telling = parts_->acknowledge();
  co_await parts_->running.run(std::move(telling));
  co_return parts_->end;
}

asio::awaitable<bool> library_group::lost() {
  auto waiting = parts_->wait_for_loss();
  co_await parts_->watching.run(std::move(waiting));
  co_return parts_->member.ended().stopped();
}

std::chrono::nanoseconds library_group::safe_for() const {
  return parts_->member.safe() ? parts_->member.safe_until() - parts_->sockets.now() : 0ns;
}

void library_group::handled() {
  parts_->no_work.stop();
}

asio::awaitable<void> library_group::leave() {
  auto leaving = parts_->leave();
  co_await parts_->running.run(std::move(leaving));
}

void library_group::stop() {
  parts_->leaving = true;
  parts_->interrupted.stop();
}

} // namespace belay::cli
