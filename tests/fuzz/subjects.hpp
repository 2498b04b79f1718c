#pragma once
// What is fuzzed: one function for each subject, given any bytes. It throws property_broken if the property of the
// subject does not hold for them, and must never crash or hang. Used by the tests here and by libFuzzer (entry/).
//
// Each returns what the bytes turned out to be, so that a run can tell whether it looked at anything.

#include "protocol/http/request.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace belay::fuzz {

// ---- what a client sends

struct http_findings {
  std::size_t requests = 0;              ///< complete ones in the stream
  bool refused = false;                  ///< the stream ends in something that is not HTTP, or too large
  std::array<std::size_t, 10> actions{}; ///< decided by the router, by place in http::action
};

/// The bytes as the stream of a connection: any split finds the same requests, what is kept of an incomplete one is
/// bounded, and the router decides each (see check_routed). And as one request written down as in corpus/http
/// ("METHOD target", header lines, an empty line, the body; lines end in \n), given to the router alone.
http_findings fuzz_http(std::string_view bytes);

/// The router decides something, decides the same again, and an answer it gives has a head that no byte of the request
/// can split. What it takes for a read or a write keeps the limits of `http_settings`.
http::parsed_request check_routed(const http::raw_request& request);
const http::route_settings& http_settings();

/// Of the reader in fuzz_http.
inline constexpr std::size_t http_header_max = 4096;
inline constexpr std::size_t http_body_max = 2000;

// ---- what a client agent passes on

struct passed_on_findings {
  std::size_t passed_on = 0;
  std::size_t refused = 0; ///< for servers, but no text of a request can say it
};

/// The bytes as fuzz_http takes them, at a client agent. What it requests of a server is one request and no byte more, without a header of
/// the client's but the five that servers read, and the server understands what it would have understood of the client's request: the same
/// route, token, body and command.
passed_on_findings fuzz_passed_on(std::string_view bytes);
/// "METHOD target", header lines, an empty line, the body (see fuzz_http). The views are of `bytes`. @returns false: it is none
bool parse_written_down(std::string_view bytes, http::raw_request& r);

// ---- what a peer sends and a checkpoint holds

struct wire_findings {
  std::size_t decoded = 0;
  std::size_t refused = 0;
};

/// The first byte says what the rest is:
///
///   f  a stream of frames as it is          b  bodies of frames, given a right length and checksum
///   c  a command       r  a reply           t  u8 table | u16 length of key | key | value of a row
///   e  entries         h  a hard state      m  snapshot meta                      g  a configuration
///   a  commands, to be applied one after the other      o  u8 kind | an operator's call
///
/// where several things each are "u16 length | bytes" (little-endian; the last may be cut short). Frames are the same
/// in any split. What decodes is encoded again, in no more bytes, and that is stable. Commands that decode can be
/// applied: the digest stays right, and the rows rebuild the same machine.
wire_findings fuzz_wire(std::string_view bytes);

/// Builds inputs of fuzz_wire and fuzz_segment_log. @pre piece.size() < 32768
void add_piece(std::string& input, std::string_view piece);

// ---- what operators write

enum class config_finding { refused, empty, read };

/// The first byte says what the rest is: `j` a configuration in JSON, anything else one in HCL. It is read or refused with a reason, every
/// place is one of the text and of a value that is there, and what was read says the same again as JSON.
config_finding fuzz_config(std::string_view bytes);

// ---- what a disk holds

enum class log_finding { refused, opened, opened_with_entries };

/// The first byte says what the rest is:
///
///   s  segments    r  segments whose checksums are made right first    b  bodies of the frames of one segment
///
/// as pieces (see above). A segment is filled with zeros up to log_segment_bytes, unless the highest bit of its length is set.
/// Opening ends in a failure that says so, or in a contiguous log. That log opens again as the same, and takes an
/// append that is then there as well.
log_finding fuzz_segment_log(std::string_view bytes);

/// Of the segments in fuzz_segment_log.
inline constexpr std::size_t log_segment_bytes = 4096;

} // namespace belay::fuzz
