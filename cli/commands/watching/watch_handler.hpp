#pragma once
// The command that a watch runs: one at a time, and never longer than the watch.

#include "cli/process/supervised_child.hpp"
#include "cli/terminal.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay::cli {

/// Names and values of environment variables.
using handler_variables = std::vector<std::pair<std::string, std::string>>;

/// The variable of a change's cursor, under its present and its old name.
handler_variables cursor_variables(const std::string& cursor);

class watch_handler {
public:
  using variables = handler_variables;

  /// @param words the command; empty: there is no handler
  watch_handler(boost::asio::any_io_executor executor, std::vector<std::string> words, bool shell, terminal t)
      : executor_(std::move(executor)), words_(std::move(words)), shell_(shell), terminal_(t) {}

  bool given() const { return !words_.empty(); }
  /// Runs the command with `input` at its standard input and additional variables.
  /// @returns false after printing an error: it did not start, or failed
  boost::asio::awaitable<bool> run(std::string input, variables added);
  /// Sends a signal to the command if it runs. A failure after that is not reported.
  void stop(int number);
  /// Sends a signal to the command if it runs.
  void signal(int number);
  /// Sets when the supervisor ends the command if this program is stopped. This applies to the
  /// current run and to later ones.
  void ends_at(const child_deadline& d);
  /// Sets what the command runs for, which its error texts name.
  void is_about(std::string what) { about_ = std::move(what); }
  bool runs() const { return child_ != nullptr; }

private:
  boost::asio::any_io_executor executor_;
  std::vector<std::string> words_;
  bool shell_;
  terminal terminal_;
  std::string about_;
  std::unique_ptr<supervised_child> child_;
  child_deadline deadline_;
  bool stopped_ = false;
};

} // namespace belay::cli
