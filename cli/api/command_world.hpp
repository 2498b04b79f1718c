#pragma once
// The client library's transport in a command that goes on when a server is away: it says when
// requests begin to fail, and when they are
// answered again. Recipes ask again by themselves, and say nothing of it.

#include "cli/api/api_connection.hpp"

#include <functional>
#include <memory>
#include <string>

namespace belay::cli {

/// A time that does not come.
constexpr std::chrono::hours for_ever{24 * 365};

/// The time of the call is over, or it was stopped: that is no failure.
inline bool is_given_up(const v0::error& why) {
  return why.why() == v0::reason::deadline || why.why() == v0::reason::stopped;
}
/// Whether asking again later may have another end: no server could be asked, or one is overloaded,
/// or has failed.
bool passes(const v0::error& why);

class command_world : public v0::detail::socket_world {
public:
  /// @param scope what is added to each query, as `dc=dc2`; empty: nothing
  command_world(boost::asio::io_context& loop, const api_target& target, std::string scope);

  /// Calls `told` with what is wrong when requests begin to be without an answer, or the server to
  /// say that it fails, and with an
  /// empty text when one is answered again.
  void on_trouble(std::function<void(const std::string& what)> told) { seen_->told = std::move(told); }

  /// Of the last answer; 0 before there was one.
  int last_status() const { return seen_->last_status; }
  /// How many transactions were carried out.
  std::uint64_t transactions() const { return seen_->transactions; }

private:
  struct observations {
    void take(const v0::request& q, std::chrono::nanoseconds given, const v0::answer& a);

    std::function<void(const std::string&)> told;
    bool troubled = false;
    int last_status = 0;
    std::uint64_t transactions = 0;
  };

  command_world(boost::asio::io_context& loop, const api_target& target, std::string scope,
                std::shared_ptr<observations> seen);

  std::shared_ptr<observations> seen_;
};

} // namespace belay::cli
