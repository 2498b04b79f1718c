#pragma once
// Many clients that follow the same keys from the start: all of them must receive the same.

#include "tests/cluster/changes/change_checker.hpp"
#include "tests/harness/http_client.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace belay::harness {

/// The sequence of changes, each as it was received by the first client that got so far.
class received_changes {
public:
  /// @param number of the change at the client. @returns false: others have received another one
  bool agrees(std::size_t number, const sim::stream_event& e);

  /// The judge of the whole sequence: each change must follow the previous one of its key.
  const change_checker& checker() const { return checker_; }
  std::size_t size() const { return all_.size(); }
  /// The number of changes up to that index.
  std::size_t count_up_to(change_position at) const;

private:
  std::mutex guard_;
  std::vector<sim::stream_event> all_;
  change_checker checker_;
};

/// Each follower has a thread. If its connection is cut, it resumes at another server.
class crowd_of_followers {
public:
  /// Some follow by streams, the others by long polls. Returns when each has started, or complains.
  /// @param prefix under which there is no key yet
  crowd_of_followers(std::vector<std::uint16_t> ports, const std::string& prefix, std::size_t streams,
                     std::size_t polls);
  ~crowd_of_followers();
  crowd_of_followers(const crowd_of_followers&) = delete;
  crowd_of_followers& operator=(const crowd_of_followers&) = delete;

  /// Returns when all have received what happened up to this log index, or complains.
  void end_at(std::uint64_t index);

  /// After end_at: what went wrong, at most 20 lines.
  std::vector<std::string> complaints() const;
  const received_changes& received() const { return received_; }
  std::size_t resumed() const { return resumed_; }         ///< at another server
  std::size_t cut() const { return cut_; }                 ///< at the same server, which had cut a slow reader
  std::size_t void_states() const { return void_states_; } ///< `reset` events and 410 responses

private:
  class member;

  std::vector<std::uint16_t> ports_;
  received_changes received_;
  std::atomic<std::size_t> begun_{0}, resumed_{0}, cut_{0}, void_states_{0};
  std::atomic<std::uint64_t> end_{UINT64_MAX}; ///< log index
  std::atomic<bool> given_up_{false};
  std::vector<std::string> late_;
  std::vector<std::unique_ptr<member>> members_;
};

} // namespace belay::harness
