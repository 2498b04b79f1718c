#pragma once
// Output to a terminal. Names and values come from other clients, and a terminal obeys control
// characters in them.

#include <iosfwd>
#include <streambuf>
#include <string>
#include <string_view>

namespace belay::cli {

/// Passes bytes on, and writes control characters as `\x1b`. These are the bytes below 0x20 except
/// line feed and tab, 0x7f, and U+0080 to U+009F in UTF-8 (ECMA-48 section 5).
class escaped_output final : public std::streambuf {
public:
  /// @param to must outlive this object
  explicit escaped_output(std::streambuf& to) : to_(to) {}

  /// Writes bytes of the program itself, without escaping.
  /// @returns false if they could not be written
  bool pass(std::string_view bytes);

protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize n) override;
  int sync() override;

private:
  void escape(std::string_view bytes, std::string& out);

  std::streambuf& to_;
  bool c2_ = false; ///< the first byte of what may be U+0080 to U+009F is held back
};

/// Makes the next output overwrite the line. The program itself writes no other control character.
void write_over_line(std::ostream& out);

} // namespace belay::cli
