#include "actors/gateway/requests/agent_tokens.hpp"

#include <utility>

namespace belay::actors {

std::string& agent_token_values::of(http::agent_token_kind kind) {
  switch (kind) {
  case http::agent_token_kind::of_requests:
    return of_requests;
  case http::agent_token_kind::agent:
    return agent;
  case http::agent_token_kind::agent_master:
    return agent_master;
  case http::agent_token_kind::replication:
  case http::agent_token_kind::unknown: // never set
    break;
  }
  return replication;
}

agent_tokens::agent_tokens(agent_token_values configured, agent_token_values kept)
    : configured_(std::move(configured)), kept_(std::move(kept)) {
  combine();
}

void agent_tokens::combine() {
  using enum http::agent_token_kind;
  now_ = configured_;
  for (const auto kind : {of_requests, agent, agent_master, replication})
    if (const auto& k = kept_.of(kind); !k.empty())
      now_.of(kind) = k;
  version_.fetch_add(1, std::memory_order_release);
}

agent_token_values agent_tokens::now() const {
  std::lock_guard hold(mutex_);
  return now_;
}

void agent_tokens::set(const http::agent_token_change& change) {
  std::lock_guard hold(mutex_);
  kept_.of(change.kind) = change.secret;
  now_.of(change.kind) = change.secret; // also if that is empty
  version_.fetch_add(1, std::memory_order_release);
}

agent_token_values agent_tokens::kept() const {
  std::lock_guard hold(mutex_);
  return kept_;
}

void agent_tokens::configure(agent_token_values configured, bool kept_count) {
  std::lock_guard hold(mutex_);
  configured_ = std::move(configured);
  if (!kept_count)
    kept_ = {};
  combine();
}

} // namespace belay::actors
