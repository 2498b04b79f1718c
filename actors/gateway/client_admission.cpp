#include "actors/gateway/client_admission.hpp"

namespace belay::actors {

const std::string* client_admission::admit(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (connections_ >= connections_max_)
    return nullptr;
  const auto limit = per_address_max_.now();
  const auto client = of_address_.try_emplace(address, 0).first;
  if (!address.empty() && limit > 0 && client->second >= limit)
    return nullptr;
  ++client->second;
  ++connections_;
  return &client->first;
}

void client_admission::leave(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto client = of_address_.find(address);
  if (client == of_address_.end())
    return;
  --connections_;
  if (--client->second == 0)
    of_address_.erase(client);
}

} // namespace belay::actors
