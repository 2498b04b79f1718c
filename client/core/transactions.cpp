#include "client/core/transactions.hpp"

namespace belay {
inline namespace v0 {
namespace detail {

namespace {

std::string with_value(std::string_view value, std::uint64_t flags) {
  std::string out = ",\"Value\":\"" + base64_encoded(value) + "\"";
  if (flags)
    out += ",\"Flags\":" + std::to_string(flags);
  return out;
}

std::string with_index(std::uint64_t index) {
  return ",\"Index\":" + std::to_string(index);
}

std::string with_session(std::string_view session) {
  return ",\"Session\":" + quoted_json(session);
}

} // namespace

transaction& transaction::add(std::string_view verb, std::string_view key, const std::string& more) {
  body_ += size_++ ? "," : "[";
  body_ += "{\"KV\":{\"Verb\":\"";
  body_ += verb;
  body_ += "\",\"Key\":" + quoted_json(key) + more + "}}";
  return *this;
}

transaction& transaction::check_index(std::string_view key, std::uint64_t index) {
  return add("check-index", key, with_index(index));
}

transaction& transaction::check_session(std::string_view key, std::string_view session) {
  return add("check-session", key, with_session(session));
}

transaction& transaction::set(std::string_view key, std::string_view value, std::uint64_t flags) {
  return add("set", key, with_value(value, flags));
}

transaction& transaction::cas(std::string_view key, std::string_view value, std::uint64_t index, std::uint64_t flags) {
  return add("cas", key, with_value(value, flags) + with_index(index));
}

transaction& transaction::lock(std::string_view key, std::string_view value, std::uint64_t flags,
                               std::string_view session) {
  return add("lock", key, with_value(value, flags) + with_session(session));
}

transaction& transaction::unlock(std::string_view key, std::string_view value, std::uint64_t flags,
                                 std::string_view session) {
  return add("unlock", key, with_value(value, flags) + with_session(session));
}

transaction& transaction::erase(std::string_view key) {
  return add("delete", key, "");
}

transaction& transaction::erase_cas(std::string_view key, std::uint64_t index) {
  return add("delete-cas", key, with_index(index));
}

request transaction::to_request() const {
  request q("PUT", "/v1/txn");
  q.body(size_ ? body_ + "]" : "[]");
  return q;
}

request unlocked_at(std::string_view key, std::uint64_t index, std::string_view value, std::uint64_t flags,
                    std::string_view session) {
  return transaction().check_index(key, index).unlock(key, value, flags, session).to_request().repeatable();
}

task<decision> commit(environment& env, const transaction& t, deadline limit, repeats how) {
  request q = t.to_request();
  backoff pauses(milliseconds(50));
  decision made = co_await write_once(env, q, limit, pauses, how);
  co_return made;
}

} // namespace detail
} // namespace v0
} // namespace belay
