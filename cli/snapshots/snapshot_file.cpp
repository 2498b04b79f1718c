#include "cli/snapshots/snapshot_file.hpp"

#include "actors/tables/archived_rows.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/private_file.hpp"
#include "protocol/archive/snapshot_archive.hpp"

#include <boost/json/parse.hpp>

#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unistd.h>

namespace belay::cli {

namespace {

constexpr std::size_t bytes_at_once = 1 << 20;

/// Checks state.bin as a restore would, if Belay wrote it. Archives of Consul can be saved and
/// inspected, too.
class state_check {
public:
  std::string take(std::string_view bytes) {
    constexpr std::string_view ours = "BELAYSNP";
    if (!is_ours_) {
      begin_ += bytes;
      if (begin_.size() < ours.size())
        return {};
      is_ours_ = begin_.starts_with(ours);
      bytes = begin_;
    }
    const auto wrong = *is_ours_ ? rows_.take(bytes, [](const state::dirty_row&) {}) : std::string();
    begin_.clear();
    return wrong;
  }
  std::string finish() { return is_ours_.value_or(false) ? rows_.finish() : std::string(); }

private:
  std::string begin_; ///< the first bytes, until they show which program wrote it
  std::optional<bool> is_ours_;
  actors::archived_rows rows_;
};

} // namespace

result<snapshot_facts> verify_snapshot(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    return failure{"Error opening snapshot file: open " + path + ": " + reason(errno)};
  archive::archive_reader reader;
  state_check rows;
  std::string piece(bytes_at_once, '\0'), state;
  const auto check = [&] {
    auto wrong = rows.take(state);
    state.clear();
    return wrong;
  };
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    std::string_view bytes(piece.data(), static_cast<std::size_t>(in.gcount()));
    while (!bytes.empty()) {
      if (const auto wrong = reader.take(bytes, state, bytes_at_once))
        return failure{"Error verifying snapshot: " + *wrong};
      if (const auto wrong = check(); !wrong.empty())
        return failure{"Error verifying snapshot: " + wrong};
    }
  }
  if (in.bad() || !in.eof())
    return failure{"Error verifying snapshot: read " + path + ": " + reason(errno)};
  // Reads what the decompressor still holds.
  for (std::string_view none;;) {
    if (const auto wrong = reader.take(none, state, bytes_at_once))
      return failure{"Error verifying snapshot: " + *wrong};
    if (state.empty())
      break;
    if (const auto wrong = check(); !wrong.empty())
      return failure{"Error verifying snapshot: " + wrong};
  }
  if (const auto wrong = reader.finish())
    return failure{"Error verifying snapshot: " + *wrong};
  if (const auto wrong = rows.finish(); !wrong.empty())
    return failure{"Error verifying snapshot: " + wrong};
  boost::system::error_code ec;
  const auto meta = boost::json::parse(reader.meta_text(), ec);
  if (ec || !meta.is_object())
    return failure{"Error verifying snapshot: failed to read snapshot file: meta.json is not a JSON object"};
  return snapshot_facts{member_text(meta, "ID"), member_number(meta, "Size"), member_number(meta, "Index"),
                        member_number(meta, "Term"), member_number(meta, "Version")};
}

unverified_file::unverified_file(std::string path) : path_(std::move(path)) {
  temporary_ = path_ + ".unverified.tmpXXXXXX";
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) {
    failed("open " + path_ + ".unverified.tmp");
    temporary_.clear();
  }
}

unverified_file::~unverified_file() {
  if (fd_ >= 0)
    ::close(fd_);
  if (!temporary_.empty())
    ::unlink(temporary_.c_str());
}

bool unverified_file::failed(const std::string& what) {
  complaint_ = what + ": " + reason(errno);
  return false;
}

bool unverified_file::append(std::string_view bytes) {
  return complaint_.empty() && (write_all(fd_, bytes) || failed("write " + temporary_));
}

result<snapshot_facts> unverified_file::put_in_place() {
  if (complaint_.empty() && ::fsync(fd_) != 0)
    failed("sync " + temporary_);
  if (!complaint_.empty())
    return failure{"Error writing unverified snapshot file: " + complaint_};
  auto facts = verify_snapshot(temporary_);
  if (!facts)
    return failure{"Error verifying snapshot file: " + facts.error()};
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    failed("rename");
    return failure{"Error renaming \"" + temporary_ + "\" to \"" + path_ + "\": " + complaint_};
  }
  temporary_.clear();
  auto folder = std::filesystem::path(path_).parent_path().string();
  if (const int d = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); d >= 0) {
    ::fsync(d); // makes the name durable, too; if that fails, the file is complete all the same
    ::close(d);
  }
  return facts;
}

} // namespace belay::cli
