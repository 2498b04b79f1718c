#include "cli/output/escaped_output.hpp"

#include <ostream>

namespace belay::cli {

namespace {

constexpr char c1_lead = '\xc2';

void append_escaped(std::string& out, unsigned char byte) {
  constexpr char digits[] = "0123456789abcdef";
  out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

} // namespace

void escaped_output::escape(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c2_) {
      c2_ = false;
      if (byte >= 0x80 && byte < 0xa0) {
        append_escaped(out, byte);
        continue;
      }
      out += c1_lead;
    }
    if (c == c1_lead)
      c2_ = true;
    else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
      append_escaped(out, byte);
    else
      out += c;
  }
}

bool escaped_output::pass(std::string_view bytes) {
  std::string out;
  if (c2_)
    out += c1_lead;
  c2_ = false;
  out += bytes;
  const auto n = static_cast<std::streamsize>(out.size());
  return to_.sputn(out.data(), n) == n;
}

std::streamsize escaped_output::xsputn(const char* bytes, std::streamsize n) {
  std::string out;
  escape({bytes, static_cast<std::size_t>(n)}, out);
  const auto wanted = static_cast<std::streamsize>(out.size());
  return to_.sputn(out.data(), wanted) == wanted ? n : 0;
}

escaped_output::int_type escaped_output::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof()))
    return traits_type::not_eof(c);
  const char byte = traits_type::to_char_type(c);
  return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

int escaped_output::sync() {
  return to_.pubsync();
}

void write_over_line(std::ostream& out) {
  if (auto* escaped = dynamic_cast<escaped_output*>(out.rdbuf())) {
    if (!escaped->pass("\r"))
      out.setstate(std::ios_base::badbit);
  } else {
    out << '\r';
  }
}

} // namespace belay::cli
