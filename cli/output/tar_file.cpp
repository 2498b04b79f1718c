#include "cli/output/tar_file.hpp"

#include "cli/output/private_file.hpp"
#include "protocol/archive/gzip.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace belay::cli {

namespace {

constexpr std::size_t tar_block_bytes = 512, name_bytes_max = 100;
/// What is compressed at once, as a gzip member of its own: much more than the 32 KiB that the compressor looks back.
constexpr std::size_t tar_piece_bytes = 1 << 20;

/// @param name of a folder with a slash at its end
std::string tar_header(const std::string& name, std::uint64_t bytes, std::int64_t time_s) {
  const bool folder = name.ends_with('/');
  std::string h(tar_block_bytes, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { h.replace(at, text.size(), text); };
  const auto octal = [](unsigned long long n, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", digits, n);
    return std::string(text);
  };
  put(0, name);
  put(100, octal(folder ? 0700 : 0600, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(bytes, 11));
  put(136, octal(static_cast<unsigned long long>(time_s), 11));
  put(148, std::string(8, ' ')); // the checksum counts as blanks while it is made
  put(156, folder ? "5" : "0");
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const unsigned char c : h)
    sum += c;
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  return h;
}

/// The stream of a tar into a file. After the first failure nothing more is done; complaint() says what it was.
class tar_stream {
public:
  explicit tar_stream(private_file& out) : out_(out) {}

  void add(const std::string& name, const std::filesystem::path& from, std::int64_t time_s) {
    if (!complaint_.empty())
      return;
    if (name.size() > name_bytes_max)
      return fail("the name is too long for an archive: " + name);
    if (name.ends_with('/'))
      return take(tar_header(name, 0, time_s));
    std::error_code ec;
    const auto size = std::filesystem::file_size(from, ec);
    std::ifstream in(from, std::ios::binary);
    if (ec || !in)
      return fail("open " + from.string() + ": " + reason(ec ? ec.value() : errno));
    take(tar_header(name, size, time_s));
    std::string piece(tar_piece_bytes, '\0');
    for (auto left = size; left > 0 && complaint_.empty();) {
      in.read(piece.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(left, piece.size())));
      const auto got = static_cast<std::size_t>(in.gcount());
      if (got == 0)
        return fail("read " + from.string() + ": it has become shorter");
      take(std::string_view(piece).substr(0, got));
      left -= got;
    }
    take(std::string((tar_block_bytes - size % tar_block_bytes) % tar_block_bytes, '\0'));
  }

  void finish() {
    take(std::string(2 * tar_block_bytes, '\0'));
    flush();
  }

  const std::string& complaint() const { return complaint_; }

private:
  void fail(const std::string& why) { complaint_ = why; }

  void take(std::string_view bytes) {
    waiting_ += bytes;
    if (waiting_.size() >= tar_piece_bytes)
      flush();
  }

  void flush() {
    std::string packed;
    if (!complaint_.empty() || waiting_.empty())
      return;
    if (!archive::append_gzip(packed, waiting_))
      return fail("out of memory");
    waiting_.clear();
    if (!out_.append(packed))
      fail(out_.complaint());
  }

  private_file& out_;
  std::string waiting_; ///< not compressed yet
  std::string complaint_;
};

std::string written_to(private_file& out, const std::filesystem::path& folder, std::int64_t time_s) {
  std::error_code ec;
  std::vector<std::filesystem::path> all;
  for (std::filesystem::recursive_directory_iterator i(folder, ec), end; !ec && i != end; i.increment(ec))
    all.push_back(i->path());
  if (ec)
    return "read " + folder.string() + ": " + reason(ec.value());
  std::sort(all.begin(), all.end());
  tar_stream tar(out);
  const auto top = folder.filename().string() + "/";
  tar.add(top, {}, time_s);
  for (const auto& p : all)
    tar.add(top + p.lexically_relative(folder).string() + (std::filesystem::is_directory(p, ec) ? "/" : ""), p, time_s);
  tar.finish();
  if (!tar.complaint().empty())
    return tar.complaint();
  return out.finish() ? "" : out.complaint();
}

} // namespace

status pack_folder(const std::string& folder, const std::string& path, std::int64_t time_s) {
  private_file out(path + ".tmp" + std::to_string(::getpid()));
  if (!out.complaint().empty())
    return failure{out.complaint()};
  auto wrong = written_to(out, folder, time_s);
  if (wrong.empty() && std::rename(out.path().c_str(), path.c_str()) != 0)
    wrong = "rename " + out.path() + " " + path + ": " + reason(errno);
  if (wrong.empty())
    return done{};
  ::unlink(out.path().c_str());
  return failure{wrong};
}

} // namespace belay::cli
