#include "cli/output/tar_file.hpp"

#include "cli/output/private_file.hpp"
#include "protocol/archive/gzip.hpp"
#include "protocol/archive/tar_header.hpp"

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

/// How many bytes are read and compressed at once.
constexpr std::size_t tar_piece_bytes = 1 << 20;

/// Streams a tar into a file. After the first failure it does nothing more; complaint() says what
/// failed.
class tar_stream {
public:
  explicit tar_stream(private_file& out) : out_(out) {}

  void add(const std::string& name, const std::filesystem::path& from, std::uint64_t time_s) {
    if (!complaint_.empty())
      return;
    if (name.size() > archive::tar_name_bytes_max)
      return fail("the name is too long for an archive: " + name);
    if (name.ends_with('/'))
      return take(archive::tar_header(name, 0, time_s));
    std::error_code ec;
    const auto size = std::filesystem::file_size(from, ec);
    std::ifstream in(from, std::ios::binary);
    if (ec || !in)
      return fail("open " + from.string() + ": " + reason(ec ? ec.value() : errno));
    take(archive::tar_header(name, size, time_s));
    std::string piece(tar_piece_bytes, '\0');
    for (auto left = size; left > 0 && complaint_.empty();) {
      in.read(piece.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(left, piece.size())));
      const auto got = static_cast<std::size_t>(in.gcount());
      if (got == 0)
        return fail("read " + from.string() + ": the file became shorter while it was read");
      take(std::string_view(piece).substr(0, got));
      left -= got;
    }
    take(std::string(archive::tar_padding_of(size), '\0'));
  }

  void finish() { take(std::string(2 * archive::tar_block, '\0'), true); }

  const std::string& complaint() const { return complaint_; }

private:
  void fail(const std::string& why) { complaint_ = why; }

  void take(std::string_view bytes, bool last = false) {
    std::string packed;
    if (!complaint_.empty())
      return;
    if (!gzip_.ok())
      return fail("out of memory");
    gzip_.append(packed, bytes, last);
    if (!out_.append(packed))
      fail(out_.complaint());
  }

  private_file& out_;
  archive::gzip_stream gzip_;
  std::string complaint_;
};

std::string written_to(private_file& out, const std::filesystem::path& folder, std::uint64_t time_s) {
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
  auto wrong = written_to(out, folder, static_cast<std::uint64_t>(time_s));
  if (wrong.empty() && std::rename(out.path().c_str(), path.c_str()) != 0)
    wrong = "rename " + out.path() + " " + path + ": " + reason(errno);
  if (wrong.empty())
    return done{};
  ::unlink(out.path().c_str());
  return failure{wrong};
}

} // namespace belay::cli
