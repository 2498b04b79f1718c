#pragma once
// Notifies owners of very many sockets when these are readable or writable: one epoll set per loop.

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace belay::actors {

using stream_descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

/// The owner of a watched socket.
class socket_owner {
public:
  virtual ~socket_owner() = default;
  /// recv() or send() would not block now. An error of the socket counts as both.
  virtual void on_ready(bool readable, bool writable) = 0;
  /// Called for a socket with interest `hang_up`: no input follows the unread bytes.
  /// @param broken it accepts no output either: the connection was reset
  virtual void on_hang_up(bool broken) { (void)broken; }
  /// Called after again().
  virtual void on_resumed() {}
};

/// Asio re-arms a socket with a system call for each wait. Here it stays armed until changed, and
/// the loop waits for the whole set (an epoll descriptor can be polled). Use it on the loop's
/// thread only.
class socket_poller : public std::enable_shared_from_this<socket_poller> {
public:
  explicit socket_poller(boost::asio::io_context& loop);

  /// What one socket waits for. Level-triggered: what is not consumed is reported again.
  struct interest {
    bool read = false, write = false;
    bool hang_up = false; ///< the end of the input, without `read`
    bool none() const { return !read && !write && !hang_up; }
    bool operator==(const interest&) const = default;
  };
  /// @param before interest of the last call; without any the socket is not in the set
  /// @returns false: out of kernel memory; the interest is unchanged
  bool change(int fd, socket_owner& owner, interest before, interest now);

  /// Calls its on_resumed() once, after the other sockets and the other work of the loop.
  void again(socket_owner& owner);
  /// Cancels again(). Linear in the number of owners that wait.
  void not_again(socket_owner& owner);

private:
  // Events that are dispatched before the loop's other work continues.
  static constexpr std::size_t events_per_batch = 128;

  void wait();
  void look();
  void resume_all();

  stream_descriptor set_;
  std::array<epoll_event, events_per_batch> events_{};
  std::size_t pending_ = 0; ///< number of events_ while they are dispatched
  std::size_t watched_ = 0;
  bool waiting_ = false;
  std::vector<socket_owner*> again_, resuming_; ///< the second while they are called; null: cancelled
};

} // namespace belay::actors
