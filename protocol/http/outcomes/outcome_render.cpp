#include "protocol/http/outcomes/outcome_render.hpp"

#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/http/render.hpp"
#include "protocol/http/request_context.hpp"

namespace belay::http {

namespace {

using go_compat::append_json_member;
using go_compat::append_json_name;

std::string_view text_of(state::once_error why) {
  switch (why) {
  case state::once_error::key:
    return "Invalid Idempotency-Key";
  case state::once_error::other_request:
    return "this Idempotency-Key was used for another request: method, path, query and body must be the same";
  case state::once_error::sealed:
    return "the write with this Idempotency-Key was cancelled: it has had no effect, and never will";
  case state::once_error::too_old:
    return "the write took too long, and has had no effect; it may be sent again";
  case state::once_error::full:
    return "too many outcomes are kept: the write has had no effect; try again later, or without Idempotency-Key";
  case state::once_error::answer_size:
    return "the response is too large to be kept: the write has had no effect";
  }
  return "";
}

} // namespace

response render_once_refusal(const state::once_refusal& no) {
  auto r = error_response(status_of(no.why), std::string(text_of(no.why)));
  r.headers.emplace_back("X-Belay-Reason", present_value(name_of(no.why)));
  return r;
}

response render_sum(const state::kv_added& sum, log_index index, const render_options& options) {
  std::string out = "{";
  append_json_name(out, "Value");
  go_compat::append_number(out, sum.value);
  append_json_name(out, "Index");
  go_compat::append_number(out, index.value);
  return json_response(out += '}', options);
}

response render_outcome(const state::reply& stored_reply, const render_options& options) {
  const bool cancelled = std::holds_alternative<std::monostate>(stored_reply);
  std::string out = "{";
  constexpr std::string_view old_state = "void";
  append_json_member(out, "State", !cancelled ? "done" : options.old_values ? old_state : present_value(old_state));
  append_json_name(out, "Index");
  go_compat::append_number(out, stored_reply.decided_at.value);
  if (!cancelled) {
    // No command whose response depends on its kind can have a key.
    const auto answer = render_write(state::command{}, stored_reply, {});
    append_json_name(out, "Status");
    go_compat::append_number(out, static_cast<std::uint64_t>(answer.status));
    append_json_member(out, "Body", answer.body);
    for (const auto& [name, value] : answer.headers)
      if (name == "X-Belay-Reason")
        append_json_member(out, "Reason", value);
  }
  return json_response(out += '}', options);
}

} // namespace belay::http
