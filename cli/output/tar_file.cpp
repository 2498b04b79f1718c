#include "cli/output/tar_file.hpp"

#include "protocol/archive/gzip.hpp"

#include <cstdio>

namespace belay::cli {

namespace {

constexpr std::size_t tar_block_bytes = 512, name_bytes_max = 100;

std::string tar_header(const tar_entry& e, std::int64_t time_s) {
  const bool folder = e.name.ends_with('/');
  std::string h(tar_block_bytes, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { h.replace(at, text.size(), text); };
  const auto octal = [](unsigned long long n, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llo", digits, n);
    return std::string(text);
  };
  put(0, e.name);
  put(100, octal(folder ? 0700 : 0600, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(e.content.size(), 11));
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

} // namespace

result<std::string> gzipped_tar(const std::vector<tar_entry>& entries, std::int64_t time_s) {
  std::string tar, out;
  for (const auto& e : entries) {
    if (e.name.size() > name_bytes_max)
      return failure{"the name is too long for an archive: " + e.name};
    tar += tar_header(e, time_s) + e.content;
    tar.append((tar_block_bytes - e.content.size() % tar_block_bytes) % tar_block_bytes, '\0');
  }
  tar.append(2 * tar_block_bytes, '\0');
  if (!archive::append_gzip(out, tar))
    return failure{"out of memory"};
  return out;
}

} // namespace belay::cli
