#pragma once
// Runs one transcript against one server.

#include "tests/contract/matcher.hpp"
#include "tests/contract/replay_server.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::contract {

/// A step as text; known variables are replaced.
std::string describe(const json::object& step, const variables& env = {});

/// The step at which a run failed.
struct failure {
  std::size_t step = 0; ///< from 1; 0 if nothing failed
  std::string what;
  std::vector<std::string> differences;
  explicit operator bool() const { return step != 0; }
};

class transcript_run {
public:
  transcript_run(const replay_server& server, const transcript& script);
  /// Ends requests that are still waiting.
  ~transcript_run();
  transcript_run(const transcript_run&) = delete;
  transcript_run& operator=(const transcript_run&) = delete;

  /// Runs all steps up to the first that fails. `trace` is called with every step before it runs.
  failure all(const std::function<void(const std::string&)>& trace);

  /// Falsifies each expectation in turn, and checks that this is noticed.
  /// @returns the parts whose falsification was not noticed; `tried` counts them all
  std::vector<std::string> self_check(std::size_t& tried) const;

private:
  struct background;
  struct checked {
    const json::object* step;
    harness::http_reply reply;
    variables env;
  };

  std::vector<std::string> one(const json::object& step);
  std::vector<std::string> check(const json::object& step, const harness::http_reply& reply);
  harness::http_reply send(const json::object& step) const;
  harness::http_reply until_expected(const json::object& step);
  void start(const json::object& step);
  background& started(const json::value& name);
  variables with_saved(const json::object& step, const harness::http_reply& reply) const;
  bool noticed(std::size_t falsified, const json::object& wrong) const;

  const replay_server& server_;
  const transcript& script_;
  variables env_;
  std::uint64_t base_;
  matcher matcher_;
  std::vector<checked> results_;
  std::map<std::string, std::unique_ptr<background>> background_;
};

} // namespace belay::contract
