#include "cli/recipes/library_feed.hpp"

#include "cli/recipes/command_world.hpp"
#include "cli/recipes/library_errors.hpp"
#include "cli/recipes/running_task.hpp"
#include "cli/recipes/telling.hpp"

namespace belay::cli {

namespace asio = boost::asio;

struct library_feed::parts {
  parts(const asio::any_io_executor& executor, const api_target& target, std::string scope, std::string prefix,
        std::string place)
      : sockets(executor, target, std::move(scope)), source(sockets, std::move(prefix), std::move(place)),
        running(executor) {}

  task<void> fetch(told_changes& out) {
    patience limit(sockets.now() + for_ever, &stopped);
    waiting = true;
    belay::v0::result<change_batch> got = co_await source.next(limit);
    waiting = false;
    if (!got) {
      end = end_of(got.why());
      co_return;
    }
    end = {};
    out.is_snapshot = got->is_snapshot;
    out.place = got->place;
    out.changes = told(std::move(got->changes));
  }

  command_world sockets;
  stopper stopped;
  changes source;
  library_end end;
  bool waiting = false;
  running_task running;
};

library_feed::library_feed(const asio::any_io_executor& executor, const api_target& target, std::string scope,
                           std::string prefix, std::string place)
    : parts_(std::make_unique<parts>(executor, target, std::move(scope), std::move(prefix), std::move(place))) {}

library_feed::~library_feed() = default;

void library_feed::on_trouble(std::function<void(const std::string&)> told) {
  parts_->sockets.on_trouble(std::move(told));
}

asio::awaitable<library_end> library_feed::next(told_changes& out) {
  auto fetching = parts_->fetch(out);
  co_await parts_->running.run(std::move(fetching));
  co_return parts_->end;
}

std::string library_feed::place_reached() const {
  // It moves on when changes come, too; then nothing waits any more.
  const auto& place = parts_->source.place();
  return parts_->waiting && place != "now" ? place : std::string();
}

void library_feed::stop() {
  parts_->stopped.stop();
}

loaded_place load_place(const std::string& path) {
  const auto found = place_in_file(path).load();
  return found ? loaded_place{*found, {}} : loaded_place{{}, found.why().text()};
}

std::string store_place(const std::string& path, const std::string& place) {
  const auto stored = place_in_file(path).store(place);
  return stored ? std::string() : stored.why().text();
}

} // namespace belay::cli
