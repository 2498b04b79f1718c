#pragma once
// What is written to a terminal: names and values come from strangers, and a terminal obeys control characters in them.

#include <iosfwd>
#include <streambuf>
#include <string>
#include <string_view>

namespace belay::cli {

/// Passes bytes on and writes control characters as `\x1b`: bytes below 0x20 but for line feed and tab, 0x7f, and U+0080 to U+009F in UTF-8
/// (ECMA-48 section 5).
class escaped_output final : public std::streambuf {
public:
  /// @param to outlives it
  explicit escaped_output(std::streambuf& to) : to_(to) {}

  /// Bytes of the program's own, as they are. @returns false: they could not be written
  bool pass(std::string_view bytes);

protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize n) override;
  int sync() override;

private:
  void escape(std::string_view bytes, std::string& out);

  std::streambuf& to_;
  bool c2_ = false; ///< the first byte of what may be U+0080 to U+009F is not written yet
};

/// What follows is written over the line. The only control character of the program's own.
void write_over_line(std::ostream& out);

} // namespace belay::cli
