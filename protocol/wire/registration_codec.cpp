#include "protocol/wire/registration_codec.hpp"

#include "protocol/wire/record_codec.hpp"

#include <algorithm>

//   u8 version (1) | u8 kind: 1 service, 2 check | body | u32 CRC32C of everything before
//
//   service  record of record_codec
//   check    text id, name, notes, service id, status | int ttl, interval, timeout, deregister after |
//            text http, method, body | varint count of headers (text name, list values) | bool skip TLS verification |
//            text tcp | list args | text alias node, alias service | bool maintenance |
//            int successes, failures, output bytes | text last status, last output | u64 valid until, ms
//
// "int" = signed number in 8 bytes.

namespace belay::wire {

namespace {

constexpr std::uint8_t version = 1;
enum class kind : std::uint8_t { service = 1, check = 2 };
constexpr std::size_t crc_bytes = 4;

template <class Definition, class Visit>
void visit_texts(Definition& d, Visit visit) {
  visit(d.id), visit(d.name), visit(d.notes), visit(d.service_id), visit(d.status);
  visit(d.http), visit(d.method), visit(d.body), visit(d.tcp), visit(d.alias_node), visit(d.alias_service);
}

template <class Definition, class Visit>
void visit_numbers(Definition& d, Visit visit) {
  visit(d.ttl_ns), visit(d.interval_ns), visit(d.timeout_ns), visit(d.deregister_after_ns);
  visit(d.success_before_passing), visit(d.failures_before_critical), visit(d.output_bytes_max);
}

void put(byte_writer& w, const agent::check_definition& d) {
  visit_texts(d, [&](const std::string& text) { w.text(text); });
  visit_numbers(d, [&](std::int64_t n) { w.u64(static_cast<std::uint64_t>(n)); });
  w.varint(d.header.size());
  for (const auto& [name, values] : d.header) {
    w.text(name);
    write_list(w, values);
  }
  w.boolean(d.tls_skip_verify);
  w.boolean(d.maintenance);
  write_list(w, d.args);
}

agent::check_definition get_definition(byte_reader& r) {
  agent::check_definition d;
  visit_texts(d, [&](std::string& text) { text = r.text(); });
  visit_numbers(d, [&](std::int64_t& n) { n = static_cast<std::int64_t>(r.u64()); });
  for (auto left = read_count(r); left > 0 && r.ok(); --left) {
    std::string name(r.text());
    read_list(r, d.header[name]);
  }
  d.tls_skip_verify = r.boolean();
  d.maintenance = r.boolean();
  read_list(r, d.args);
  return d;
}

std::string sealed(std::string bytes) {
  const auto crc = crc32c(bytes);
  byte_writer(bytes).u32(crc);
  return bytes;
}

} // namespace

std::string encode_registration(const agent::stored_service& s) {
  std::string out;
  byte_writer w(out);
  w.u8(version);
  w.u8(static_cast<std::uint8_t>(kind::service));
  write_record(w, s.service);
  return sealed(std::move(out));
}

std::string encode_registration(const agent::stored_check& c, std::uint64_t now_ms) {
  constexpr std::int64_t ns_per_ms = 1'000'000;
  std::string out;
  byte_writer w(out);
  w.u8(version);
  w.u8(static_cast<std::uint8_t>(kind::check));
  put(w, c.definition);
  w.text(c.status);
  w.text(c.output);
  w.u64(now_ms + static_cast<std::uint64_t>(std::max<std::int64_t>(0, c.valid_ns / ns_per_ms)));
  return sealed(std::move(out));
}

result<registration> decode_registration(std::string_view bytes, std::uint64_t now_ms) {
  constexpr std::uint64_t ns_per_ms = 1'000'000;
  if (bytes.size() < crc_bytes + 2)
    return failure{"too short"};
  const auto body = bytes.substr(0, bytes.size() - crc_bytes);
  byte_reader seal(bytes.substr(body.size()));
  if (seal.u32() != crc32c(body))
    return failure{"bad checksum"};
  byte_reader r(body);
  if (r.u8() != version)
    return failure{"written by another version"};
  const auto k = r.u8();
  registration found;
  if (k == static_cast<std::uint8_t>(kind::service)) {
    agent::stored_service s;
    read_record(r, s.service);
    found = std::move(s);
  } else if (k == static_cast<std::uint8_t>(kind::check)) {
    agent::stored_check c;
    c.definition = get_definition(r);
    c.status = r.text();
    c.output = r.text();
    const auto until = r.u64();
    const auto left_ms = until > now_ms ? until - now_ms : 0;
    // A clock that was set back makes nothing valid for longer than its TTL.
    const auto ttl = static_cast<std::uint64_t>(std::max<std::int64_t>(0, c.definition.ttl_ns));
    c.valid_ns = static_cast<std::int64_t>(std::min(ttl, left_ms > ttl / ns_per_ms ? ttl : left_ms * ns_per_ms));
    found = std::move(c);
  } else {
    return failure{"of unknown kind"};
  }
  if (!r.complete())
    return failure{"malformed"};
  return found;
}

} // namespace belay::wire
