#pragma once
// The fuzzed subjects: one function each, given any bytes. It throws property_broken if its
// property does not hold, and must not crash or hang. Tests here and libFuzzer (entry/) use them.
//
// Each returns what the bytes turned out to be, which shows whether a run was useful.

#include "protocol/http/request.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace belay::fuzz {

// ---- from clients

struct http_findings {
  std::size_t requests = 0;              ///< complete ones in the stream
  bool refused = false;                  ///< the stream ends in something that is not HTTP, or too large
  std::array<std::size_t, 10> actions{}; ///< decided by the router, by position in http::action
};

/// Reads the bytes as the stream of a connection. Any split finds the same requests, an incomplete
/// one has a bounded buffer, and the router decides each (see check_routed). Then reads the bytes
/// as one request for the router, in the format of corpus/http ("METHOD target", headers, an empty
/// line, the body; \n).
http_findings fuzz_http(std::string_view bytes);

/// The router decides, decides the same again, and no byte of the request can split the head of its
/// response. Its reads and writes keep the limits of `http_settings`.
http::parsed_request check_routed(const http::raw_request& request);
const http::route_settings& http_settings();

/// Limits of the reader in fuzz_http.
inline constexpr std::size_t http_header_max = 4096;
inline constexpr std::size_t http_body_max = 2000;

// ---- from client agents

struct passed_on_findings {
  std::size_t passed_on = 0;
  std::size_t refused = 0; ///< for servers, but no request can express it
};

/// Reads the bytes like fuzz_http, at a client agent. Its request to a server is one request and no
/// byte more, with at most the five headers that servers read. The server understands it like the
/// client's request: the same route, token, body and command.
passed_on_findings fuzz_passed_on(std::string_view bytes);
/// A stored request (see fuzz_http). The views are of `bytes`. @returns false: not a request
bool parse_written_down(std::string_view bytes, http::raw_request& r);

// ---- from peers, and in checkpoints

struct wire_findings {
  std::size_t decoded = 0;
  std::size_t refused = 0;
};

/// The first byte says what the rest is:
///
///   f  a stream of frames as it is          b  bodies of frames, given a right length and checksum
///   c  a command       r  a reply           t  u8 table | u16 length of key | key | value of a row
///   e  entries         h  a hard state      m  snapshot meta             g  a configuration
///   a  commands, to be applied in sequence  o  u8 kind | an operator's call
///
/// Several items are each "u16 length | bytes" (little-endian; the last may be cut). Frames are the
/// same in any split. Decoded items are encoded again, in no more bytes, and that is stable.
/// Decoded commands can be applied: the digest stays right, and rows rebuild the machine.
wire_findings fuzz_wire(std::string_view bytes);

/// Builds inputs of fuzz_wire and fuzz_segment_log. @pre piece.size() < 32768
void add_piece(std::string& input, std::string_view piece);

// ---- from operators

enum class config_finding { refused, empty, read };

/// The first byte says what the rest is: `j` a configuration in JSON, else one in HCL. It is read,
/// or rejected with a reason; positions are those of existing values; it is the same in JSON.
config_finding fuzz_config(std::string_view bytes);

// ---- from disks

enum class log_finding { refused, opened, opened_with_entries };

/// The first byte says what the rest is:
///
///   s  segments   r  segments, with checksums corrected   b  bodies of the frames of one segment
///
/// as pieces (see above). A segment is filled with zeros up to log_segment_bytes, unless the
/// highest bit of its length is set. Opening ends in an error with a text, or in a contiguous log.
/// That log opens again as the same, and takes an append that is then there.
log_finding fuzz_segment_log(std::string_view bytes);

/// Size of the segments in fuzz_segment_log.
inline constexpr std::size_t log_segment_bytes = 4096;

} // namespace belay::fuzz
