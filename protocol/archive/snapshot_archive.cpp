#include "protocol/archive/snapshot_archive.hpp"

#include "protocol/archive/tar_header.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/json_output.hpp"

#include <zlib.h>

#include <algorithm>

namespace belay::archive {

namespace {

constexpr int gzip_window = 15 + 16;  // zlib: +16 requests the gzip wrapper
constexpr std::size_t gzip_head = 10; // RFC 1952 2.3: bytes before the optional ones
constexpr std::size_t zlib_piece = 64u << 10;
constexpr std::string_view meta_name = "meta.json", state_name = "state.bin", sums_name = "SHA256SUMS";
constexpr std::size_t sums_bytes_max = 4096;
// Ours has some 100 bytes, and 100 more for each server.
constexpr std::uint64_t meta_bytes_max = 1u << 20;
// tar pads the archive with zeros after the last file, usually to a multiple of 10 KiB.
constexpr std::uint64_t fill_bytes_max = 64u << 10;

/// Value of "Peers": a msgpack list of the servers' addresses, expected by older Consul tools.
std::string msgpack_list(const std::vector<archive_meta::server>& servers) {
  std::string out;
  const auto big_endian = [&](std::size_t n) { out += static_cast<char>(n >> 8), out += static_cast<char>(n); };
  if (servers.size() < 16)
    out += static_cast<char>(0x90 | servers.size());
  else
    out += '\xdc', big_endian(servers.size());
  for (const auto& s : servers) {
    if (s.address.size() < 32)
      out += static_cast<char>(0xa0 | s.address.size());
    else
      out += '\xda', big_endian(s.address.size());
    out += s.address;
  }
  return out;
}

std::string meta_json(const archive_meta& m) {
  std::string out = "{\"Version\":1,\"ID\":\"" + to_string(m.term) + "-" + to_string(m.index) + "-" +
                    std::to_string(m.time_ms) + "\",\"Index\":" + to_string(m.index) +
                    ",\"Term\":" + to_string(m.term) + ",\"Peers\":\"";
  go_compat::append_base64(out, msgpack_list(m.servers));
  out += "\",\"Configuration\":{\"Servers\":[";
  bool first = true;
  for (const auto& s : m.servers) {
    out += first ? "{\"Suffrage\":" : ",{\"Suffrage\":";
    first = false;
    out += s.voter ? "0,\"ID\":" : "1,\"ID\":";
    go_compat::append_json_string(out, s.id);
    out += ",\"Address\":";
    go_compat::append_json_string(out, s.address);
    out += '}';
  }
  return out + "]},\"ConfigurationIndex\":1,\"Size\":" + std::to_string(m.state_bytes) + "}\n";
}

std::optional<std::uint64_t> get_number(std::string_view field) {
  std::uint64_t v = 0;
  if ((field[0] & 0x80) != 0) {
    for (std::size_t i = 1; i < field.size(); ++i) {
      if (v >> 56 != 0)
        return std::nullopt;
      v = v << 8 | static_cast<unsigned char>(field[i]);
    }
    return v;
  }
  for (const char c : field) {
    if (c == '\0' || c == ' ')
      continue;
    if (c < '0' || c > '7')
      return std::nullopt;
    v = v * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return v;
}

std::string sum_line(std::string_view sum, std::string_view name) {
  return std::string(sum) + "  " + std::string(name) + "\n";
}

constexpr auto unpack_failed = "failed to decompress snapshot: ";
constexpr auto read_failed = "failed to read snapshot file: ";

} // namespace

// ---- writing

archive_writer::archive_writer(archive_meta meta) : meta_(std::move(meta)) {}

void archive_writer::pack(std::string_view bytes, bool last, std::string& out) {
  if (gzip_.ok()) // no memory: the archive has no end, so it is recognized as incomplete
    gzip_.append(out, bytes, last);
}

void archive_writer::file_head(std::string_view name, std::uint64_t bytes, std::string& out) {
  pack(tar_header(name, bytes, meta_.time_ms / 1000), false, out);
}

void archive_writer::pad(std::uint64_t bytes, std::string& out) {
  pack(std::string(tar_padding_of(bytes), '\0'), false, out);
}

void archive_writer::begin(std::string& out) {
  const auto meta = meta_json(meta_);
  meta_sum_ = sha256().add(meta).hex();
  file_head(meta_name, meta.size(), out);
  pack(meta, false, out);
  pad(meta.size(), out);
  file_head(state_name, meta_.state_bytes, out);
}

void archive_writer::add(std::string_view state, std::string& out) {
  state_sum_.add(state);
  pack(state, false, out);
}

void archive_writer::finish(std::string& out) {
  pad(meta_.state_bytes, out);
  const auto sums = sum_line(meta_sum_, meta_name) + sum_line(state_sum_.hex(), state_name);
  file_head(sums_name, sums.size(), out);
  pack(sums, false, out);
  pad(sums.size(), out);
  pack(std::string(2 * tar_block, '\0'), true, out);
}

// ---- reading

struct archive_reader::decompressor {
  z_stream z{};
  bool ok = false;
  bool any = false;   ///< input was seen
  std::string head;   ///< the first gzip_head bytes, as far as they are there
  bool ended = false; ///< the gzip stream is complete
  /// @returns false: not a gzip header
  bool take_head() {
    Bytef none;
    z.next_in = reinterpret_cast<Bytef*>(head.data());
    z.avail_in = static_cast<uInt>(head.size());
    z.next_out = &none;
    z.avail_out = 0; // no output
    const int rc = inflate(&z, Z_NO_FLUSH);
    return (rc == Z_OK || rc == Z_BUF_ERROR) && z.avail_in == 0;
  }

  decompressor() { ok = inflateInit2(&z, gzip_window) == Z_OK; }
  ~decompressor() {
    if (ok)
      inflateEnd(&z);
  }
};

archive_reader::archive_reader() : gzip_(std::make_unique<decompressor>()) {}
archive_reader::~archive_reader() = default;

std::optional<std::string> archive_reader::take(std::string_view& bytes, std::string& state,
                                                std::size_t state_bytes_max) {
  auto& g = *gzip_;
  if (!g.ok)
    return std::string(unpack_failed) + "out of memory";
  std::string piece(zlib_piece, '\0');
  bool more_inside = true; // zlib may have output for input that it has consumed
  while (state.size() < state_bytes_max && (!bytes.empty() || more_inside)) {
    if (g.ended) {
      if (bytes.empty())
        return std::nullopt;
      return std::string(unpack_failed) + "gzip: invalid header"; // something after the end
    }
    g.any = g.any || !bytes.empty();
    // Go reads this much first: anything shorter is reported as truncated, whatever its content.
    if (g.head.size() < gzip_head) {
      const auto n = std::min(gzip_head - g.head.size(), bytes.size());
      g.head += bytes.substr(0, n);
      bytes.remove_prefix(n);
      if (g.head.size() < gzip_head)
        return std::nullopt;
      if (!g.take_head())
        return std::string(unpack_failed) + "gzip: invalid header";
      continue;
    }
    g.z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    g.z.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), 1u << 20));
    const auto given = g.z.avail_in;
    g.z.next_out = reinterpret_cast<Bytef*>(piece.data());
    g.z.avail_out = zlib_piece;
    const int rc = inflate(&g.z, Z_NO_FLUSH);
    bytes.remove_prefix(given - g.z.avail_in);
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
      return std::string(unpack_failed) + (g.z.total_out == 0 ? "gzip: invalid header" : "flate: corrupt input");
    g.ended = rc == Z_STREAM_END;
    more_inside = g.z.avail_out == 0;
    if (auto why = untar(std::string_view(piece).substr(0, zlib_piece - g.z.avail_out), state))
      return why;
  }
  return std::nullopt;
}

std::optional<std::string> archive_reader::next_file() {
  if (head_.find_first_not_of('\0') == std::string::npos) {
    ended_ = true;
    return std::nullopt;
  }
  const auto field = [this](tar_span f) { return std::string_view(head_).substr(f.at, f.size); };
  const auto sum = get_number(field(tar_sum_field)), size = get_number(field(tar_size_field));
  if (!sum || *sum != tar_sum_of(head_) || !size)
    return std::string(read_failed) + "failed reading snapshot: archive/tar: invalid tar header";
  file f;
  f.name = std::string(field(tar_name_field).substr(0, field(tar_name_field).find('\0')));
  f.left = *size;
  f.padding = tar_padding_of(*size);
  const bool regular = field(tar_type_field)[0] == '0' || field(tar_type_field)[0] == '\0';
  const bool again =
      (f.name == meta_name && meta_sum_) || (f.name == state_name && state_sum_) || (f.name == sums_name && sums_seen_);
  if (f.name == meta_name)
    meta_sum_.emplace();
  else if (f.name == state_name)
    state_sum_.emplace();
  else if (f.name == sums_name)
    sums_seen_ = true;
  if (f.name == meta_name && f.left > meta_bytes_max)
    return std::string(read_failed) + "meta.json has more than " + std::to_string(meta_bytes_max) + " bytes";
  if (!regular || again || (f.name != meta_name && f.name != state_name && f.name != sums_name) ||
      (f.name == sums_name && f.left > sums_bytes_max))
    return std::string(read_failed) + "unexpected file \"" + f.name + "\" in snapshot";
  file_ = std::move(f);
  return std::nullopt;
}

std::optional<std::string> archive_reader::untar(std::string_view bytes, std::string& state) {
  while (!bytes.empty()) {
    if (ended_) {
      fill_bytes_ += bytes.size();
      if (fill_bytes_ > fill_bytes_max || bytes.find_first_not_of('\0') != std::string_view::npos)
        return std::string(read_failed) + "there is data after the end of the archive";
      return std::nullopt;
    }
    if (!file_) {
      const auto n = std::min(bytes.size(), tar_block - head_.size());
      head_.append(bytes.substr(0, n));
      bytes.remove_prefix(n);
      if (head_.size() < tar_block)
        return std::nullopt;
      auto why = next_file();
      head_.clear();
      if (why)
        return why;
      continue;
    }
    const auto part = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), file_->left)));
    bytes.remove_prefix(part.size());
    file_->left -= part.size();
    if (file_->name == meta_name) {
      meta_sum_->add(part);
      meta_text_.append(part);
    } else if (file_->name == state_name) {
      state_sum_->add(part);
      state.append(part);
    } else {
      sums_text_.append(part);
    }
    if (file_->left != 0)
      return std::nullopt;
    const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), file_->padding));
    bytes.remove_prefix(skipped);
    file_->padding -= skipped;
    if (file_->padding == 0)
      file_.reset();
  }
  return std::nullopt;
}

std::optional<std::string> archive_reader::finish() {
  if (!gzip_->any)
    return std::string(unpack_failed) + "EOF";
  if (gzip_->z.total_out == 0 && !gzip_->ended)
    return std::string(unpack_failed) + "unexpected EOF";
  if (!gzip_->ended || file_ || !head_.empty())
    return std::string(read_failed) + "failed to read snapshot hashes: unexpected EOF";
  const auto check = [this](std::string_view name, std::optional<sha256>& sum) -> std::optional<std::string> {
    if (!sum)
      return std::string(read_failed) + "failed checking integrity of snapshot: list missing hash for \"" +
             std::string(name) + "\"";
    if (sums_text_.find(sum_line(sum->hex(), name)) == std::string::npos)
      return std::string(read_failed) + "failed checking integrity of snapshot: hash check failed for \"" +
             std::string(name) + "\"";
    return std::nullopt;
  };
  if (auto why = check(meta_name, meta_sum_))
    return why;
  return check(state_name, state_sum_);
}

} // namespace belay::archive
