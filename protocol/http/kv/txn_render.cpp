#include "protocol/http/record_json.hpp"
#include "protocol/http/render_parts.hpp"
#include "protocol/http/request_context.hpp"

namespace belay::http {

namespace {

struct row_writer {
  std::string& out;
  bool with_value;

  void operator()(const state::kv_entry_ptr& e) const {
    out += "{\"KV\":";
    append_kv_entry(out, *e, with_value);
  }
  void operator()(const state::node_ptr& n) const {
    out += "{\"Node\":";
    append_node(out, *n);
  }
  void operator()(const state::service_ptr& s) const {
    out += "{\"Service\":";
    append_service(out, *s, absent_tags::null);
  }
  void operator()(const state::check_ptr& c) const {
    out += "{\"Check\":";
    append_check(out, *c, absent_tags::null);
  }
};

void append_results(std::string& out, const std::vector<state::txn_result>& results) {
  out += '[';
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i != 0)
      out += ',';
    std::visit(row_writer{out, results[i].with_value}, results[i].row);
    out += '}';
  }
  out += ']';
}

void append_errors(std::string& out, const std::vector<state::txn_error>& errors) {
  out += '[';
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (i != 0)
      out += ',';
    append_object(out, errors[i]);
  }
  out += ']';
}

} // namespace

std::string txn_json(const state::txn_reply& r, const read_meta* meta) {
  const bool failed = !r.errors.empty();
  std::string out = "{\"Results\":";
  if (failed)
    out += "null";
  else
    append_results(out, r.results);
  out += ",\"Errors\":";
  if (failed)
    append_errors(out, r.errors);
  else
    out += "null";
  if (meta) {
    out += ",\"Index\":0,\"LastContact\":";
    golang::append_number(out, meta->last_contact_ms * 1'000'000); // nanoseconds here, milliseconds in the header
    out += ",\"KnownLeader\":";
    golang::append_bool(out, meta->known_leader);
    out += ",\"ConsistencyLevel\":\"\"";
  }
  return out += '}';
}

response render_txn(const state::txn_reply& r, const read_meta* meta, const render_options& options) {
  auto answer = json_response(txn_json(r, meta), options);
  answer.status = r.errors.empty() ? 200 : 409;
  if (meta) {
    answer.headers.emplace_back("X-Consul-Knownleader", meta->known_leader ? "true" : "false");
    answer.headers.emplace_back("X-Consul-Lastcontact", std::to_string(meta->last_contact_ms));
  }
  return answer;
}

} // namespace belay::http
