#include "protocol/http/list_rows.hpp"
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

std::string meta_members(const read_meta& meta) {
  std::string out = ",\"Index\":0,\"LastContact\":";
  go_compat::append_number(out, meta.last_contact_ms * 1'000'000); // nanoseconds here, milliseconds in the header
  out += ",\"KnownLeader\":";
  go_compat::append_bool(out, meta.known_leader);
  return out += ",\"ConsistencyLevel\":\"\"";
}

} // namespace

list_rows txn_rows(const state::txn_reply& r, const read_meta* meta) {
  list_rows rows;
  if (r.errors.empty()) {
    rows.begin = "{\"Results\":[";
    rows.end = "],\"Errors\":null";
    rows.count = r.results.size();
    rows.append = [&r](std::string& out, std::size_t i) {
      std::visit(row_writer{out, r.results[i].with_value}, r.results[i].row);
      out += '}';
    };
  } else {
    rows.begin = "{\"Results\":null,\"Errors\":[";
    rows.end = "]";
    rows.count = r.errors.size();
    rows.append = [&r](std::string& out, std::size_t i) { append_object(out, r.errors[i]); };
  }
  if (meta)
    rows.end += meta_members(*meta);
  rows.end += '}';
  return rows;
}

response render_txn_head(bool done, const read_meta* meta) {
  auto answer = json_response({}, {});
  answer.status = done ? 200 : 409;
  if (meta) {
    answer.headers.emplace_back("X-Consul-Knownleader", meta->known_leader ? "true" : "false");
    answer.headers.emplace_back("X-Consul-Lastcontact", std::to_string(meta->last_contact_ms));
  }
  return answer;
}

response render_txn(const state::txn_reply& r, const read_meta* meta, const render_options& options) {
  auto answer = render_txn_head(r.errors.empty(), meta);
  answer.body = json_response(whole(txn_rows(r, meta)), options).body;
  return answer;
}

} // namespace belay::http
