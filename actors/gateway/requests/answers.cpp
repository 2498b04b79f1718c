#include "actors/gateway/requests/answers.hpp"

#include "actors/session_lifetime.hpp"
#include "protocol/http/agent/agent_render.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/render.hpp"
#include "protocol/http/request_class.hpp"
#include "protocol/state/command_level.hpp"

namespace belay::actors {

http::response answer_to(const exchange& e, write_result& r) {
  const auto* command = std::get_if<state::command>(&e.what);
  if (r.outcome == wire::call_outcome::done && command != nullptr)
    return http::render_write(*command, r.reply, e.options, r.index, r.session_ttl_ms);
  const bool too_new = command != nullptr && r.outcome == wire::call_outcome::refused &&
                       state::level_of(*command) >= state::claims_level && state::speaks_of_levels(r.text);
  if (r.text == http::overloaded_text) // the leader's answer
    return http::overloaded_response();
  return http::error_response(too_new ? 409 : 500, std::move(r.text));
}

http::response answer_to(const exchange& e, const renew_result& r) {
  const auto* renewal = std::get_if<http::session_renew>(&e.what);
  if (r.ok && renewal != nullptr)
    return http::render_renew(renewal->id, r.session, e.options, r.session != nullptr ? lifetime_ms(*r.session) : 0);
  const auto* list = std::get_if<http::session_renew_list>(&e.what);
  if (r.ok && list != nullptr && r.of_list.size() == list->ids.size())
    return http::render_renewals(list->ids, r.of_list, e.options);
  if (r.ok && list != nullptr)
    return http::error_response(409, "the leader does not support lists of sessions: renew one session at a time, or "
                                     "install a newer Belay on the leader");
  return http::error_response(500, r.text);
}

http::response answer_to(const exchange& e, read_result& r) {
  const auto& request = std::get<http::read_request>(e.what);
  if (auto* failed = std::get_if<failure>(&r.answer))
    return http::render_read_error(request, std::move(failed->text));
  return http::answer_read(request, *r.found(), {r.last_contact_ms, r.known_leader, r.lock_delay_ms, r.session_ttl_ms},
                           e.options);
}

std::optional<http::response> refusal_in(const read_result& r) {
  const auto* result = r.found();
  if (result == nullptr)
    return http::error_response(500, std::get<failure>(r.answer).text);
  if (const auto* no = std::get_if<state::refusal>(&result->data))
    return http::refusal_response(no->text);
  return std::nullopt;
}

http::response answer_to(const exchange& e, const agent_answer& a) {
  if (std::holds_alternative<http::local_request>(e.what)) { // agent_reload, agent_leave
    const auto* no = std::get_if<agent::refused>(&a.reply);
    return no != nullptr ? http::error_response(no->status, no->text) : http::response{};
  }
  return http::render_agent(std::get<http::agent_request>(e.what), a.reply, e.options);
}

} // namespace belay::actors
