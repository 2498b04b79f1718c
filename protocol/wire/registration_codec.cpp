#include "protocol/wire/registration_codec.hpp"

#include "protocol/wire/record_codec.hpp"

#include <algorithm>

//   u8 version (1) | u8 kind: 1 service, 2 check, 3 gRPC check, 4 with a token | body | u32 CRC32C of all before
//
//   service   state::service_record, encoded as in record_codec.hpp
//   check     agent::check_definition, as below | text last status | text last output | u64 valid until, ms
//   gRPC      text GRPC | u8 GRPCUseTLS | as check: a kind of its own, for older files
//   token     text token, not empty | u8 kind, 1 to 3 | its body: the same

namespace belay::state {

template <>
inline constexpr auto fields_of<agent::check_definition> = std::tuple{
    field<&agent::check_definition::id>{},
    field<&agent::check_definition::name>{},
    field<&agent::check_definition::notes>{},
    field<&agent::check_definition::service_id>{},
    field<&agent::check_definition::status>{},
    field<&agent::check_definition::http>{},
    field<&agent::check_definition::method>{},
    field<&agent::check_definition::body>{},
    field<&agent::check_definition::tcp>{},
    field<&agent::check_definition::alias_node>{},
    field<&agent::check_definition::alias_service>{},
    field<&agent::check_definition::ttl_ns>{},
    field<&agent::check_definition::interval_ns>{},
    field<&agent::check_definition::timeout_ns>{},
    field<&agent::check_definition::deregister_after_ns>{},
    field<&agent::check_definition::success_before_passing>{},
    field<&agent::check_definition::failures_before_critical>{},
    field<&agent::check_definition::output_bytes_max>{},
    field<&agent::check_definition::header>{},
    field<&agent::check_definition::tls_skip_verify>{},
    field<&agent::check_definition::maintenance>{},
    field<&agent::check_definition::args>{},
    field<&agent::check_definition::grpc, "", as::apart>{}, // added later, each with a kind of file of its own
    field<&agent::check_definition::grpc_use_tls, "", as::apart>{},
    field<&agent::check_definition::token, "", as::apart>{},
};

} // namespace belay::state

namespace belay::wire {

namespace {

constexpr std::uint8_t version = 1;
enum class kind : std::uint8_t { service = 1, check = 2, grpc_check = 3, with_token = 4 };
constexpr std::size_t crc_bytes = 4;

void begin(byte_writer& w, kind k, const std::string& token) {
  w.u8(version);
  if (!token.empty()) {
    w.u8(static_cast<std::uint8_t>(kind::with_token));
    w.text(token);
  }
  w.u8(static_cast<std::uint8_t>(k));
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
  begin(w, kind::service, s.token);
  write_record(w, s.service);
  return sealed(std::move(out));
}

std::string encode_registration(const agent::stored_check& c, std::uint64_t now_ms) {
  constexpr std::int64_t ns_per_ms = 1'000'000;
  std::string out;
  byte_writer w(out);
  const bool grpc = !c.definition.grpc.empty();
  begin(w, grpc ? kind::grpc_check : kind::check, c.definition.token);
  if (grpc) {
    w.text(c.definition.grpc);
    w.u8(c.definition.grpc_use_tls ? 1 : 0);
  }
  write_record(w, c.definition);
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
  auto k = r.u8();
  std::string token;
  if (k == static_cast<std::uint8_t>(kind::with_token)) {
    token = r.text();
    k = r.u8();
    if (token.empty())
      return failure{"malformed"};
  }
  registration found;
  if (k == static_cast<std::uint8_t>(kind::service)) {
    agent::stored_service s;
    read_record(r, s.service);
    s.token = std::move(token);
    found = std::move(s);
  } else if (k == static_cast<std::uint8_t>(kind::check) || k == static_cast<std::uint8_t>(kind::grpc_check)) {
    agent::stored_check c;
    if (k == static_cast<std::uint8_t>(kind::grpc_check)) {
      c.definition.grpc = r.text();
      c.definition.grpc_use_tls = r.u8() != 0;
    }
    read_record(r, c.definition);
    c.definition.token = std::move(token);
    c.status = r.text();
    c.output = r.text();
    const auto until = r.u64();
    const auto left_ms = until > now_ms ? until - now_ms : 0;
    // If the clock was set back, nothing is valid for longer than its TTL.
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
