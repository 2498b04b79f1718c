#pragma once
// The command that a watch runs: never twice at once, and never longer than the watch.

#include "cli/process/guarded_child.hpp"
#include "cli/terminal.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay::cli {

class watch_handler {
public:
  /// Names and values.
  using variables = std::vector<std::pair<std::string, std::string>>;

  /// @param words the command; none: there is no handler
  watch_handler(boost::asio::any_io_executor executor, std::vector<std::string> words, bool shell, terminal t)
      : executor_(std::move(executor)), words_(std::move(words)), shell_(shell), terminal_(t) {}

  bool given() const { return !words_.empty(); }
  /// Runs it with `input` at its standard input, and some variables more. @returns false after a complaint: it did not start, or failed
  boost::asio::awaitable<bool> run(std::string input, variables added);
  /// Sends it a signal if it runs. That it fails from now on is no reason to complain.
  void stop(int number);
  /// Sends it a signal if it runs.
  void signal(int number);
  /// Its guard ends it then if this program is stopped. Of the run that is under way and those behind it.
  void ends_at(const guard_deadline& d);
  /// What complaints are about: they name it.
  void is_about(std::string what) { about_ = std::move(what); }
  bool runs() const { return child_ != nullptr; }

private:
  boost::asio::any_io_executor executor_;
  std::vector<std::string> words_;
  bool shell_;
  terminal terminal_;
  std::string about_;
  std::unique_ptr<guarded_child> child_;
  guard_deadline deadline_;
  bool stopped_ = false;
};

} // namespace belay::cli
