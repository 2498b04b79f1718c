#pragma once
// Tells the owners of very many sockets when there is something to read or room to write: one epoll set on one loop.

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace belay::actors {

using stream_descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

/// Whoever owns a watched socket.
class socket_owner {
public:
  virtual ~socket_owner() = default;
  /// recv() or send() would not have to wait now. An error of the socket counts as both.
  virtual void on_ready(bool readable, bool writable) = 0;
  /// Of a socket that is watched for that: the other end sends nothing behind what is not read yet.
  /// @param broken and takes nothing, either: the connection was reset
  virtual void on_hang_up(bool broken) { (void)broken; }
  /// After again().
  virtual void on_turn_again() {}
};

/// Asio re-arms a socket with a system call for every wait; here it stays armed until somebody says otherwise, and the
/// loop only waits for the set as a whole (an epoll descriptor can be waited for like any other). For the loop's thread.
class socket_poller : public std::enable_shared_from_this<socket_poller> {
public:
  explicit socket_poller(boost::asio::io_context& loop);

  /// What one socket waits for. Level-triggered: who does not take what is there is told again.
  struct interest {
    bool read = false, write = false;
    bool hang_up = false; ///< the end of the input, without `read`
    bool none() const { return !read && !write && !hang_up; }
    bool operator==(const interest&) const = default;
  };
  /// @param before what was asked for the last time; with neither the socket is not in the set
  /// @returns false: no memory in the kernel; the interest is as before
  bool change(int fd, socket_owner& owner, interest before, interest now);

  /// Its on_turn_again() is called once, behind the other sockets and what else the loop has to do.
  void again(socket_owner& owner);
  /// It is not called any more. Linear in how many wait for that.
  void not_again(socket_owner& owner);

private:
  // Events that are handed out before the loop's other work gets its turn.
  static constexpr std::size_t events_per_turn = 128;

  void wait();
  void look();
  void take_turns();

  stream_descriptor set_;
  std::array<epoll_event, events_per_turn> events_{};
  std::size_t pending_ = 0; ///< of events_, while they are handed out
  std::size_t watched_ = 0;
  bool waiting_ = false;
  std::vector<socket_owner*> again_, taking_turns_; ///< the second while they are called; null: not any more
};

} // namespace belay::actors
