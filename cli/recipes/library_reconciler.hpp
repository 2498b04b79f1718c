#pragma once
// Keys that are worked through at a bounded rate, by the client library: belay::reconciler, and belay::changes for what to offer it.

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace belay::cli {

struct api_target;

struct reconcile_order {
  std::string prefix;
  bool follows = true; ///< keys that change are worked on, too
  bool reads = true;   ///< what the key is stands in worked_key; else its name alone
  // As belay::reconciler_options.
  std::uint32_t per_second = 500;
  std::size_t workers = 8;
  std::uint32_t tries_max = 5;
  std::chrono::milliseconds pass_every{60'000}, work_limit{10'000};
};

struct worked_key {
  std::string key, value;
  std::uint64_t flags = 0;
  std::uint64_t index = 0; ///< of its last change; 0: there is no such key
};

struct reconcile_counts {
  std::uint64_t done = 0, failed = 0, given_up = 0, dropped = 0, passes = 0;
  std::size_t waiting = 0;
  bool idle = false; ///< nothing waits, and nothing is worked on
};

class library_reconciler {
public:
  /// To be called once, from the loop.
  using ended = std::function<void(bool well)>;
  /// Begins to work on a key. Never on the same one twice at once.
  using begin_work = std::function<void(const worked_key& what, ended told)>;
  /// Work on that key takes too long: it should end soon, and then counts as failed.
  using cut_work = std::function<void(const std::string& key)>;

  /// @param scope what is added to each query, as `dc=dc2`
  library_reconciler(const boost::asio::any_io_executor& executor, const api_target& target, std::string scope,
                     const reconcile_order& order, begin_work begin, cut_work cut);
  ~library_reconciler();
  library_reconciler(const library_reconciler&) = delete;
  library_reconciler& operator=(const library_reconciler&) = delete;

  /// command_world::on_trouble()
  void on_trouble(std::function<void(const std::string& what)> told);
  void start();
  /// Begins with nothing more. What is worked on is told of no more.
  void stop();
  reconcile_counts counts() const;
  /// What asking again cannot change, of listing or following the keys; empty: nothing is.
  const std::string& failure() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace belay::cli
