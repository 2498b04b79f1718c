#pragma once
// The base of everything that is held by a session of the client library.

#include "cli/api/command_environment.hpp"
#include "cli/locks/acquire_deadline.hpp"
#include "cli/locks/holding.hpp"

#include <belay/session.hpp>

#include <memory>
#include <string>

namespace belay::cli {

class session_holding : public holding {
public:
  /// @param scope added to each query
  /// @param deadline for every request, until had() is called
  session_holding(boost::asio::io_context& loop, const api_target& target, const api_query& scope,
                  const acquire_deadline& deadline)
      : sockets_(loop, target, scope.text()), deadline_(deadline) {}

  boost::asio::awaitable<status> begin(std::string name) override;
  boost::asio::awaitable<void> end() override;
  std::string session() const override { return session_ ? session_->id() : std::string(); }
  lock_clock::time_point valid_until() const override;
  bool over() const override { return !session_ || !session_->safe(); }
  void stop() override { stopping_.stop(); }

protected:
  v0::deadline within(std::chrono::milliseconds t) { return v0::deadline(sockets_.now() + deadline_.limit(t)); }
  /// Whether the session was lost or has ended.
  bool lost() const { return !session_ || session_->ended().stopped(); }
  /// It is held now, so the deadline no longer applies.
  void had() { deadline_ = {}; }

  command_environment sockets_;
  v0::stop_source stopping_; ///< stops acquire() and watch()
  v0::session_options options_;
  std::unique_ptr<v0::session> session_;
  acquire_deadline deadline_;

private:
  lock_clock::time_point answered_{}; ///< when the last renewal got its response
};

} // namespace belay::cli
