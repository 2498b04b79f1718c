#include "actors/gateway/http_chunks.hpp"

#include "protocol/base/hex.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// More bytes of extensions and trailers are an attack; Go allows 16 KiB, too.
constexpr std::size_t extras_max = 16384;
// Enough for 2^60; a body of that size is rejected anyway.
constexpr int size_digits_max = 15;

} // namespace

chunk_decoder::state chunk_decoder::decode(std::string_view input, std::string& body, std::size_t body_max,
                                           std::size_t& used) {
  used = 0;
  while (used < input.size()) {
    if (at_ != at::data) {
      const auto s = step(input[used++]);
      if (s != state::more)
        return s;
      // Checked before the data arrives: what will not fit is rejected at once.
      if (at_ == at::data && left_ > body_max - body.size())
        return state::too_large;
      continue;
    }
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - used));
    body.append(input.substr(used, n));
    used += n;
    left_ -= n;
    if (left_ == 0)
      at_ = at::data_cr;
  }
  return state::more;
}

/// Processes one byte that is not data.
chunk_decoder::state chunk_decoder::step(char c) {
  const auto expect = [&](char wanted, at next) {
    at_ = next;
    return c == wanted ? state::more : state::broken;
  };
  const auto skip = [&](at line_end) {
    if (c == '\r')
      at_ = line_end;
    return c == '\n' || ++extra_bytes_ > extras_max ? state::broken : state::more;
  };
  switch (at_) {
  case at::size:
    if (const int v = hex_value(c); v >= 0) {
      left_ = left_ * 16 + static_cast<std::uint64_t>(v);
      return ++digits_ > size_digits_max ? state::broken : state::more;
    }
    if (digits_ == 0)
      return state::broken;
    [[fallthrough]];
  case at::size_blank: // followed by an extension or nothing
    if (c == '\r')
      at_ = at::size_end;
    else if (c == ';')
      at_ = at::extension;
    else if ((c == ' ' || c == '\t') && ++extra_bytes_ <= extras_max)
      at_ = at::size_blank;
    else
      return state::broken;
    return state::more;
  case at::extension:
    return skip(at::size_end);
  case at::size_end:
    digits_ = 0;
    return expect('\n', left_ == 0 ? at::trailer_start : at::data);
  case at::data_cr:
    return expect('\r', at::data_lf);
  case at::data_lf:
    return expect('\n', at::size);
  case at::trailer_start:
    at_ = c == '\r' ? at::end : at::trailer;
    return c == '\n' ? state::broken : state::more;
  case at::trailer:
    return skip(at::trailer_end);
  case at::trailer_end:
    return expect('\n', at::trailer_start);
  case at::end:
    return c == '\n' ? state::complete : state::broken;
  case at::data:
    break;
  }
  return state::broken;
}

} // namespace belay::actors
