#pragma once
// The credentials in force. A reload replaces them; each new connection uses the current ones.

#include "actors/tls/credentials.hpp"
#include "actors/tls/https_credentials.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace belay::tls {

/// Thread-safe.
template <class Credentials>
class store_of {
public:
  using pointer = std::shared_ptr<const Credentials>;

  explicit store_of(pointer first) : now_(std::move(first)) {}

  pointer now() const {
    std::lock_guard lock(mutex_);
    return now_;
  }
  void replace(pointer next) {
    std::lock_guard lock(mutex_);
    now_ = std::move(next);
  }

private:
  mutable std::mutex mutex_;
  pointer now_;
};

/// Credentials for connections to peers.
class credential_store : public store_of<credentials> {
public:
  /// Without credentials: nothing is presented and nothing is required.
  credential_store() : store_of(none()) {}
  explicit credential_store(credentials_ptr first) : store_of(std::move(first)) {}

private:
  static credentials_ptr none() {
    auto c = credentials::load({});
    return c ? *c : nullptr;
  }
};

/// Credentials for HTTPS clients.
using https_credential_store = store_of<https_credentials>;

} // namespace belay::tls
