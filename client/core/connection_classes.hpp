#pragma once
// Decides which requests get one of a transport's connections. Requests that block at servers for a
// long time must not delay short ones, and no request may delay a renewal.

#include <belay/environment.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace belay {
inline namespace v0 {
namespace detail {

/// The class of a request.
enum class connection_class : std::uint8_t {
  urgent,  ///< request::urgent()
  brief,   ///< the server answers at once
  waiting, ///< the server may block it
};

inline connection_class class_of(const request& q) {
  if (q.is_urgent())
    return connection_class::urgent;
  return q.waits() ? connection_class::waiting : connection_class::brief;
}

/// An eighth of `connections` (1 to 8) and of `requests` is reserved for requests that do not wait.
/// Urgent ones are never rejected, and have one more connection. If `connections` is 1, that one
/// serves all others.
class connection_classes {
public:
  /// @pre connections > 0
  connection_classes(std::size_t connections, std::size_t requests)
      : connections_(connections),
        for_waiting_(std::max<std::size_t>(connections - std::clamp<std::size_t>(connections / 8, 1, 8), 1)),
        requests_(requests), requests_waiting_(requests - requests / 8) {}

  /// Maximum number of connections.
  std::size_t connections_max() const noexcept { return connections_ + 1; }
  /// Whether one more request of this class is accepted.
  bool takes(connection_class r) const noexcept {
    if (r == connection_class::urgent)
      return true;
    auto all = there_[connection_class::urgent] + there_[connection_class::brief] + there_[connection_class::waiting];
    return all < requests_ && (r == connection_class::brief || there_[r] < requests_waiting_);
  }
  void arrived(connection_class r) noexcept { ++there_[r]; }
  void gone(connection_class r) noexcept { --there_[r]; }

  /// Whether one more request of this class gets a connection.
  bool is_free(connection_class r) const noexcept {
    auto others = busy_[connection_class::brief] + busy_[connection_class::waiting];
    if (others + busy_[connection_class::urgent] >= connections_max())
      return false;
    if (r == connection_class::urgent)
      return true;
    return others < connections_ && (r == connection_class::brief || busy_[r] < for_waiting_);
  }
  void begun(connection_class r) noexcept { ++busy_[r]; }
  void ended(connection_class r) noexcept { --busy_[r]; }

  /// The request waits for a connection.
  /// @param ticket larger than all before
  void enqueue(connection_class r, std::uint64_t ticket) { queues_[r].push_back(ticket); }
  void withdraw(connection_class r, std::uint64_t ticket) { std::erase(queues_[r], ticket); }
  bool somebody_queues() const noexcept {
    return std::any_of(queues_.all.begin(), queues_.all.end(), [](const auto& q) { return !q.empty(); });
  }
  /// Dequeues the request that gets a connection now: an urgent one, else the oldest possible.
  std::optional<std::uint64_t> next() {
    std::deque<std::uint64_t>* first = nullptr;
    for (auto r : {connection_class::urgent, connection_class::brief, connection_class::waiting}) {
      auto& queue = queues_[r];
      if (queue.empty() || !is_free(r))
        continue;
      if (!first || queue.front() < first->front())
        first = &queue;
      if (r == connection_class::urgent)
        break;
    }
    if (!first)
      return std::nullopt;
    auto ticket = first->front();
    first->pop_front();
    return ticket;
  }

private:
  template <class T>
  struct of_each {
    std::array<T, 3> all{};
    T& operator[](connection_class r) noexcept { return all[static_cast<std::size_t>(r)]; }
    const T& operator[](connection_class r) const noexcept { return all[static_cast<std::size_t>(r)]; }
  };

  std::size_t connections_;
  std::size_t for_waiting_;
  std::size_t requests_;
  std::size_t requests_waiting_;
  of_each<std::size_t> there_;
  of_each<std::size_t> busy_;
  of_each<std::deque<std::uint64_t>> queues_;
};

} // namespace detail
} // namespace v0
} // namespace belay
