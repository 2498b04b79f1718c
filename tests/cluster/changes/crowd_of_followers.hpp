#pragma once
// Many clients that follow the same keys from before their first change on: what one of them is told, all others are told, too.

#include "tests/cluster/changes/change_judge.hpp"
#include "tests/harness/http_client.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace belay::harness {

/// The changes in their order, as whoever was told the next one first was told it.
class told_changes {
public:
  /// @param number of the change, counted by who was told it. @returns false: others were told another one
  bool agrees(std::size_t number, const sim::stream_event& e);

  /// Of the whole sequence: each change follows the one of its key before it.
  const change_judge& judge() const { return judge_; }
  std::size_t size() const { return all_.size(); }
  /// How many stand at that place or before it.
  std::size_t count_up_to(change_place at) const;

private:
  std::mutex guard_;
  std::vector<sim::stream_event> all_;
  change_judge judge_;
};

/// Each has a thread. Whoever is cut goes on at another server.
class crowd_of_followers {
public:
  /// Some follow by streams, the others by long polls. Returns when each has begun, or complains.
  /// @param prefix below which there is no key yet
  crowd_of_followers(std::vector<std::uint16_t> ports, const std::string& prefix, std::size_t streams,
                     std::size_t polls);
  ~crowd_of_followers();
  crowd_of_followers(const crowd_of_followers&) = delete;
  crowd_of_followers& operator=(const crowd_of_followers&) = delete;

  /// Returns when all were told what happened up to the log index, or complains.
  void end_at(std::uint64_t index);

  /// After end_at: what went wrong, at most 20 of it.
  std::vector<std::string> complaints() const;
  const told_changes& told() const { return told_; }
  std::size_t resumed() const { return resumed_; }         ///< at another server
  std::size_t cut() const { return cut_; }                 ///< for taking too little, on the same server again
  std::size_t void_states() const { return void_states_; } ///< `reset`, and 410

private:
  class member;

  std::vector<std::uint16_t> ports_;
  told_changes told_;
  std::atomic<std::size_t> begun_{0}, resumed_{0}, cut_{0}, void_states_{0};
  std::atomic<std::uint64_t> end_{UINT64_MAX}; ///< log index
  std::atomic<bool> given_up_{false};
  std::vector<std::string> late_;
  std::vector<std::unique_ptr<member>> members_;
};

} // namespace belay::harness
