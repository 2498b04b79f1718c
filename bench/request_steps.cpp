#include "bench/request_steps.hpp"

#include "actors/gateway/http_reader.hpp"
#include "protocol/base/check.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/http/render.hpp"
#include "protocol/http/request.hpp"
#include "protocol/state/machine.hpp"
#include "protocol/watch/parked_queries.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/frame_codec.hpp"
#include "sim/disks/memory_files.hpp"
#include "storage/log/segment_log.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

namespace belay::bench {

namespace {

constexpr std::size_t listed = 1'000, in_transaction = 16, together = 16;
constexpr std::size_t policies = 200, rules_of_policy = 50, tokens = 1'000, policies_of_token = 3;
// Commands that are ready to be applied: enough to touch different memory each time.
constexpr std::size_t ready_puts_max = 20'000;

std::string numbered(const char* prefix, std::size_t i) {
  char text[32];
  std::snprintf(text, sizeof text, "%s/k%08zu", prefix, i);
  return text;
}

std::string some_value(std::size_t i, std::size_t bytes) {
  std::string v(bytes, '\0');
  for (std::size_t at = 0; at < v.size(); ++at)
    v[at] = static_cast<char>('a' + (i + at * 7) % 26);
  return v;
}

state::command put_of(std::string key, std::string value) {
  state::kv_op op;
  op.key = std::move(key);
  op.value = make_payload(std::move(value));
  return state::kv_write{std::move(op)};
}

std::string numbered_uuid(unsigned kind, std::size_t i) {
  char text[48];
  std::snprintf(text, sizeof text, "%08zx-0c8e-4d8f-9a55-2f6d3f1f%04x", i * 2'654'435'761 % 0xffff'ffff, kind);
  return text;
}

/// Rules for names that no step uses, but that begin like the keys of the steps.
std::string other_rules(std::size_t policy) {
  std::string text;
  for (std::size_t i = 0; i < rules_of_policy; ++i)
    text += "key_prefix \"bench/team-" + std::to_string(policy) + "/part-" + std::to_string(i) +
            (i % 2 == 0 ? "\" { policy = \"read\" }\n" : "\" { policy = \"deny\" }\n");
  return text;
}

std::string request_text(const std::string& first_line, const std::string& body = {}, const std::string& token = {}) {
  auto text = first_line + " HTTP/1.1\r\nHost: 127.0.0.1:8500\r\nUser-Agent: Go-http-client/1.1\r\n";
  if (!token.empty())
    text += "X-Consul-Token: " + token + "\r\n";
  if (!body.empty())
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "Accept-Encoding: identity\r\n\r\n" + body;
}

std::string transaction_body(const state_size& size, std::size_t version) {
  std::string body = "[";
  for (std::size_t i = 0; i < in_transaction; ++i) {
    body += i == 0 ? "" : ",";
    body += R"({"KV":{"Verb":"set","Key":")" + numbered("bench", i * (size.keys / in_transaction)) + R"(","Value":")";
    go_compat::append_base64(body, some_value(i + version, size.value_bytes));
    body += "\"}}";
  }
  return body + "]";
}

class bench_state {
public:
  explicit bench_state(const state_size& size) {
    settings.node_name = "n1";
    rules.body_limit = [](std::string_view, std::string_view) { return http::body_limit{std::size_t{1} << 24}; };
    for (std::size_t i = 0; i < size.keys; ++i)
      apply(put_of(numbered("bench", i), some_value(i, size.value_bytes)));
    // Puts to keys all over the table, in a scattered order, and again with other values.
    const auto ready = std::min(size.keys, ready_puts_max / 2);
    for (const std::size_t version : {1, 2})
      for (std::size_t i = 0; i < ready; ++i)
        puts.push_back(put_of(numbered("bench", i * 7919 % ready * (size.keys / ready)),
                              some_value(i + version, size.value_bytes)));
    machine.take_dirty(); // as after a checkpoint
    encoded_put = make_payload(wire::encode_command(puts.front()));
    for (std::size_t i = 0; i < listed; ++i)
      apply(put_of(numbered("list", i), some_value(i, size.value_bytes)));
    fill_acls();
    for (std::size_t i = 0; i < size.watchers; ++i)
      parked.park(i + 1, state::kv_get{i % 2 == 0 ? "watched" : numbered("bench", i)});
    storage::segment_log_options options;
    options.seed = 1;
    auto opened = storage::segment_log::open(files, "log", options);
    INVARIANT(opened);
    log = std::move(*opened);
    INVARIANT(log->load());
  }

  state::reply apply(const state::command& c) {
    state::effects changed;
    applied = applied.next();
    return machine.apply(applied, cluster_time{applied.value}, c, changed);
  }

  void fill_acls() {
    apply(state::acl_initialize{"", numbered_uuid(0, 0), 1'000});
    state::acl_policy_set policy;
    policy.fresh = true;
    for (std::size_t i = 0; i <= policies; ++i) {
      policy.policy.id = numbered_uuid(1, i);
      policy.policy.name = "p" + std::to_string(i);
      policy.policy.rules = i == policies ? R"(key_prefix "bench" { policy = "write" })" : other_rules(i);
      INVARIANT(!std::holds_alternative<state::refusal>(apply(policy)));
    }
    for (std::size_t i = 0; i < tokens; ++i) {
      state::acl_token_set token;
      token.fresh = true;
      token.token.accessor = numbered_uuid(2, i);
      token.token.secret = numbered_uuid(3, i);
      token.token.create_time_ns = 1'000;
      token.policies = {{"", "p" + std::to_string(policies)}};
      for (std::size_t p = 0; p < policies_of_token; ++p)
        token.policies.push_back({"", "p" + std::to_string((i * 7 + p * 61) % policies)});
      INVARIANT(!std::holds_alternative<state::refusal>(apply(token)));
      of_tokens.push_back({token.token.secret, false, "dc1"});
    }
    state::query any = state::kv_get{"bench"};
    for (const auto& each : of_tokens) { // compiles their rules, which happens on first use
      any.by = each;
      INVARIANT(!machine.refuses(any, cluster_time{applied.value}));
    }
  }
  const state::auth_context& next_auth_context() { return of_tokens[next_token++ * 577 % tokens]; }

  http::parsed_request understand(const std::string& bytes, bool with_acls = false) {
    settings.acl_enabled = with_acls;
    std::size_t used = 0;
    const auto outcome = reader.read(bytes, used);
    INVARIANT(outcome == actors::http_reader::outcome::complete);
    auto request = reader.request();
    request.remote_address = "127.0.0.1";
    auto parsed = http::parse(request, settings, [] { return std::string("5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01"); });
    reader.reset();
    return parsed;
  }

  void answer(const http::read_request& read) {
    const auto response = http::render_read(read, machine.evaluate(read.query), {}, {});
    INVARIANT(response.status == 200);
    out.clear();
    http::serialize(response, "Sat, 21 Nov 2026 12:00:00 GMT", true, false, settings.response_headers, out);
  }

  /// In the form that the leader sends and the log stores.
  std::vector<raft::entry> next_entries(std::size_t n) {
    std::vector<raft::entry> list(n);
    for (std::size_t i = 0; i < n; ++i) {
      logged = logged.next();
      list[i].index = logged;
      list[i].term = term_id{1};
      list[i].kind = raft::entry_kind::command;
      list[i].data = encoded_put;
    }
    return list;
  }

  http::route_settings settings;
  actors::http_reader_rules rules;
  actors::http_reader reader{rules};
  state::machine machine;
  log_index applied, logged;
  watch::parked_queries parked;
  sim::memory_files files;
  std::unique_ptr<storage::segment_log> log;
  payload encoded_put;
  std::string out;
  std::size_t round = 0, next_token = 0;
  std::vector<state::command> puts;
  std::vector<state::auth_context> of_tokens;
};

template <class Action>
Action action_of(bench_state& w, const std::string& bytes) {
  auto parsed = w.understand(bytes);
  auto* action = std::get_if<Action>(&parsed.action);
  INVARIANT(action != nullptr);
  return std::move(*action);
}

} // namespace

std::vector<request_step> request_steps(state_size size) {
  const auto w = std::make_shared<bench_state>(size);
  const auto get_bytes = request_text("GET /v1/kv/bench/k00000042?consistent");
  const auto put_bytes = request_text("PUT /v1/kv/bench/k00000042", some_value(7, size.value_bytes));
  const auto txn_bytes = request_text("PUT /v1/txn", transaction_body(size, 0));
  const auto token_bytes = request_text("GET /v1/kv/bench/k00000042?stale", {}, numbered_uuid(3, 7));
  const auto get = action_of<http::read_request>(*w, get_bytes);
  const auto list = action_of<http::read_request>(*w, request_text("GET /v1/kv/list/?recurse"));
  const auto transaction = action_of<http::write_request>(*w, txn_bytes).command;
  const auto other_transaction =
      action_of<http::write_request>(*w, request_text("PUT /v1/txn", transaction_body(size, 1))).command;
  const auto transaction_entry = wire::encode_command(transaction);

  raft::message append;
  append.from = node_id{1};
  append.to = node_id{2};
  append.term = term_id{1};
  append.body = raft::append_entries{{}, {}, {}, 1, w->next_entries(16)};
  std::string append_frame;
  wire::encode_frame(append, append_frame);
  w->logged = {};

  return {
      {"http/read a get", [w, get_bytes] { w->understand(get_bytes); }},
      {"http/read a get with a token", [w, token_bytes] { w->understand(token_bytes, true); }},
      {"http/read a put", [w, put_bytes] { w->understand(put_bytes); }},
      {"http/read a transaction of 16 puts", [w, txn_bytes] { w->understand(txn_bytes); }},
      {"http/answer a get", [w, get] { w->answer(get); }},
      {"http/answer a get with one of 1000 tokens",
       [w, get = http::read_request(get)]() mutable {
         get.query.by = w->next_auth_context();
         w->answer(get);
       }},
      {"http/answer a list of 1000", [w, list] { w->answer(list); }},
      {"wire/encode a put", [w] { wire::encode_command(w->puts.front()); }},
      {"wire/decode a put", [w] { wire::decode_command(*w->encoded_put); }},
      {"wire/encode a transaction of 16 puts", [transaction] { wire::encode_command(transaction); }},
      {"wire/decode a transaction of 16 puts", [transaction_entry] { wire::decode_command(transaction_entry); }},
      {"wire/encode an append of 16 puts",
       [w, append] {
         w->out.clear();
         wire::encode_frame(append, w->out);
       }},
      {"wire/decode an append of 16 puts",
       [append_frame] {
         wire::frame_decoder decoder;
         std::vector<wire::frame> frames;
         INVARIANT(decoder.feed(append_frame, frames) && frames.size() == 1);
       }},
      {"state/apply a put", [w] { w->apply(w->puts[w->round++ % w->puts.size()]); }},
      {"state/apply 16 puts together",
       [w] {
         std::array<const state::command*, together> next;
         for (auto& each : next)
           each = &w->puts[w->round++ % w->puts.size()];
         w->machine.fetch(next);
         for (const auto* put : next)
           w->apply(*put);
       }},
      {"state/apply a put with one of 1000 tokens",
       [w] {
         auto& put = w->puts[w->round++ % w->puts.size()];
         put.by = w->next_auth_context();
         w->apply(put);
         put.by.reset();
       }},
      {"state/apply a transaction of 16 puts",
       [w, transaction, other_transaction] { w->apply(++w->round % 2 == 0 ? transaction : other_transaction); }},
      {"state/find the index of a prefix", [w, list] { w->machine.index_of(list.query); }},
      {"watch/who is woken, half of all",
       [w, size] {
         std::vector<watch::park_id> woken;
         w->parked.touched({state::kv_changed{"watched"}}, woken);
         INVARIANT(woken.size() == (size.watchers + 1) / 2);
       }},
      {"watch/park and remove",
       [w, size] {
         w->parked.park(size.watchers + 1, state::kv_get{"elsewhere"});
         w->parked.remove(size.watchers + 1);
       }},
      {"log/append 16 puts, without the disk",
       [w] {
         raft::persist_batch batch;
         batch.entries = w->next_entries(16);
         INVARIANT(w->log->append({batch}));
         if (w->logged.value % 16'384 == 0)
           INVARIANT(w->log->compact(w->logged));
       }},
  };
}

} // namespace belay::bench
