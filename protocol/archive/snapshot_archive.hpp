#pragma once
// The archive of /v1/snapshot: a gzipped tar of meta.json, state.bin and SHA256SUMS, as Consul's
// (docs/contract/11). The content of state.bin is Belay's. Both directions work on pieces.

#include "protocol/archive/gzip.hpp"
#include "protocol/archive/sha256.hpp"
#include "protocol/base/ids.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::archive {

/// The content of meta.json.
struct archive_meta {
  struct server {
    std::string id, address;
    bool voter = true;
  };
  log_index index;
  term_id term;
  std::uint64_t time_ms = 0; ///< since 1970; part of the ID, and the time of the files
  std::vector<server> servers;
  std::uint64_t state_bytes = 0;
};

class archive_writer {
public:
  explicit archive_writer(archive_meta meta);

  /// Appends the part of the archive before state.bin to `out`.
  void begin(std::string& out);
  /// The next bytes of state.bin; together they have meta.state_bytes bytes.
  void add(std::string_view state, std::string& out);
  void finish(std::string& out);

private:
  void file_head(std::string_view name, std::uint64_t bytes, std::string& out);
  void pad(std::uint64_t bytes, std::string& out);
  void pack(std::string_view bytes, bool last, std::string& out);

  archive_meta meta_;
  gzip_stream gzip_;
  std::string meta_sum_;
  sha256 state_sum_;
};

/// Errors are Consul's texts, if it has one for the case.
class archive_reader {
public:
  archive_reader();
  ~archive_reader();

  /// Consumes some of `bytes`, appends its part of state.bin to `state`, up to about
  /// `state_bytes_max`. @returns an error in the archive; nullopt: none so far.
  std::optional<std::string> take(std::string_view& bytes, std::string& state, std::size_t state_bytes_max);
  /// Ends the input. @returns an error, e.g. if it was truncated or a checksum differs.
  std::optional<std::string> finish();
  /// meta.json: complete after finish() without error.
  const std::string& meta_text() const { return meta_text_; }

private:
  struct decompressor;
  struct file {
    std::string name;
    std::uint64_t left = 0, padding = 0;
  };
  std::optional<std::string> untar(std::string_view bytes, std::string& state);
  std::optional<std::string> next_file();

  std::unique_ptr<decompressor> gzip_;
  std::string head_; ///< header of the next file in the tar
  std::optional<file> file_;
  bool ended_ = false; ///< end of the tar
  bool sums_seen_ = false;
  std::uint64_t fill_bytes_ = 0; ///< after its end
  std::string sums_text_, meta_text_;
  std::optional<sha256> meta_sum_, state_sum_;
};

} // namespace belay::archive
