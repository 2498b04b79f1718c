#include "actors/gateway/client_admission.hpp"

#include "protocol/http/network.hpp"

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

bool client_admission::full() const {
  const std::lock_guard lock(mutex_);
  return connections_ >= connections_max_;
}

std::unordered_map<std::string, std::size_t> client_admission::networks() const {
  std::unordered_map<std::string, std::size_t> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [address, count] : of_address_)
    if (!address.empty())
      all[http::network_of(address)] += count;
  return all;
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
