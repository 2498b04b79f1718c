#pragma once
// The credentials in force. A reload puts new ones in their place; whoever begins a connection asks for those of the moment.

#include "actors/tls/credentials.hpp"

#include <mutex>

namespace belay::tls {

/// For any thread.
class credential_store {
public:
  /// Without credentials: nothing is shown and nothing is demanded.
  credential_store() {
    if (auto none = credentials::load({}))
      now_ = *none;
  }
  explicit credential_store(credentials_ptr first) : now_(std::move(first)) {}

  credentials_ptr now() const {
    std::lock_guard lock(mutex_);
    return now_;
  }
  void replace(credentials_ptr next) {
    std::lock_guard lock(mutex_);
    now_ = std::move(next);
  }

private:
  mutable std::mutex mutex_;
  credentials_ptr now_;
};

} // namespace belay::tls
