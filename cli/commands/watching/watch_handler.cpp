#include "cli/commands/watching/watch_handler.hpp"

#include "protocol/base/renamed_names.hpp"

#include <cstdio>
#include <unistd.h>

namespace belay::cli {

namespace asio = boost::asio;

handler_variables cursor_variables(const std::string& cursor) {
  constexpr const auto& names = renamed(name_kind::variable, "BELAY_CURSOR");
  return {{std::string(names.name), cursor}, {std::string(names.old_name), cursor}};
}

asio::awaitable<bool> watch_handler::run(std::string text, variables added) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), std::fclose);
  if (!input || std::fwrite(text.data(), 1, text.size(), input.get()) != text.size() || std::fflush(input.get()) != 0 ||
      ::lseek(fileno(input.get()), 0, SEEK_SET) != 0) {
    error(terminal_, "Error executing handler: its input cannot be written to the temporary folder (TMPDIR)");
    co_return false;
  }
  child_plan plan;
  plan.argv = command_line(words_, shell_);
  plan.environment = std::move(added);
  plan.stdin_fd = fileno(input.get());
  plan.deadline = deadline_;
  auto started = supervised_child::start(executor_, plan);
  if (!started) {
    error(terminal_, "Error starting handler: " + started.error());
    co_return false;
  }
  child_ = std::move(*started);
  const auto end = co_await child_->ended();
  child_.reset();
  if (end.well() || stopped_)
    co_return true;
  error(terminal_, "Error executing handler" + (about_.empty() ? "" : " for " + about_) + ": " + end.text());
  co_return false;
}

void watch_handler::stop(int number) {
  stopped_ = true;
  signal(number);
}

void watch_handler::ends_at(const child_deadline& d) {
  deadline_ = d;
  if (child_)
    child_->ends_at(d);
}

void watch_handler::signal(int number) {
  if (child_)
    child_->signal(number);
}

} // namespace belay::cli
