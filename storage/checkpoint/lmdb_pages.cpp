#include "storage/checkpoint/lmdb_pages.hpp"

#include "storage/checkpoint/lmdb_layout.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace belay::storage {

namespace {

namespace layout = lmdb_layout;

constexpr std::uint64_t page_bytes_min = 512, page_bytes_max = 65'536; // supported by LMDB
constexpr std::uint64_t key_bytes_max = 511;                           // mdb_env_get_maxkeysize()
constexpr int depth_max = 32;                                          // depth of LMDB's cursors
enum : std::size_t { free_pages, rows, databases };

/// The file in memory, while this object exists.
class mapped_file {
public:
  mapped_file() = default;
  ~mapped_file() {
    if (bytes_ != nullptr)
      ::munmap(bytes_, size_);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  status open(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      return failure{"cannot open " + path + ": " + std::strerror(errno)};
    struct stat about {};
    int why = ::fstat(fd, &about) == 0 ? 0 : errno;
    if (why == 0 && about.st_size > 0) {
      size_ = static_cast<std::size_t>(about.st_size);
      auto* at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
      why = at == MAP_FAILED ? errno : 0;
      bytes_ = why == 0 ? at : nullptr;
    }
    ::close(fd);
    if (why != 0)
      return failure{"cannot map " + path + ": " + std::strerror(why)};
    return done{};
  }

  std::uint64_t size() const { return size_; }
  /// @pre the number is within the file
  template <class Number>
  Number at(std::uint64_t offset) const {
    return layout::number_at<Number>(from(offset), 0);
  }
  const char* from(std::uint64_t offset) const { return static_cast<const char*>(bytes_) + offset; }

private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
};

class page_check {
public:
  explicit page_check(const mapped_file& file) : file_(file) {}

  bool run() {
    if (file_.size() < layout::page_header_bytes + layout::meta_bytes)
      return wrong(0, "the file ends before it");
    page_bytes_ = file_.at<std::uint32_t>(layout::page_header_bytes + layout::page_size_at);
    if (page_bytes_ < page_bytes_min || page_bytes_ > page_bytes_max || (page_bytes_ & (page_bytes_ - 1)) != 0 ||
        file_.size() < 2 * page_bytes_)
      return wrong(0, "it is not a meta page of LMDB, or the file ends early");
    for (const std::uint64_t page : {0, 1})
      if (!is_meta(page))
        return wrong(page, "it is not a meta page of LMDB");
    const auto meta = (transaction_of(1) > transaction_of(0) ? page_bytes_ : 0) + layout::page_header_bytes;
    last_page_ = file_.at<std::uint64_t>(meta + layout::last_page_at);
    for (const auto database : {free_pages, rows})
      if (!database_is_whole(meta + layout::databases_at + database * layout::database_bytes, database))
        return false;
    // LMDB maps all of them, and continues after the last one. It writes no page that was allocated
    // and freed in one transaction, so free ones may lie after the end of the file.
    if (last_page_ > pages_in_file() && last_page_ - pages_in_file() > listed_)
      return wrong(meta / page_bytes_, "it has a wrong number of the last page");
    return true;
  }

  const std::string& reason() const { return why_; }

private:
  bool wrong(std::uint64_t page, const std::string& what) {
    why_ = "page " + std::to_string(page) + ": " + what;
    return false;
  }

  bool is_meta(std::uint64_t page) const {
    const auto at = page * page_bytes_;
    return file_.at<std::uint64_t>(at) == page && layout::is_meta_page(file_.from(at)) &&
           file_.at<std::uint32_t>(at + layout::page_header_bytes + layout::page_size_at) == page_bytes_;
  }
  std::uint64_t transaction_of(std::uint64_t page) const {
    return file_.at<std::uint64_t>(page * page_bytes_ + layout::page_header_bytes + layout::transaction_at);
  }

  std::uint64_t pages_in_file() const { return file_.size() / page_bytes_; }

  bool database_is_whole(std::uint64_t at, std::size_t database) {
    const auto root = file_.at<std::uint64_t>(at + layout::root_at);
    const int depth = file_.at<std::uint16_t>(at + layout::depth_at);
    const auto order = file_.at<std::uint16_t>(at + layout::database_flags_at) & layout::order_flags;
    if (order != (database == free_pages ? layout::integer_keys_flag : 0))
      return wrong(at / page_bytes_, "it has flags that are not used here");
    if (root == layout::no_page)
      return true;
    if (depth < 1 || depth > depth_max)
      return wrong(root, "a tree of depth " + std::to_string(depth));
    return tree_is_whole(root, depth, database);
  }

  /// @param pages contiguous pages from `page` on
  bool is_in_file(std::uint64_t page, std::uint64_t pages = 1) {
    if (page < 2 || page > last_page_ || pages == 0 || pages > last_page_ - page + 1 || page >= pages_in_file() ||
        pages > pages_in_file() - page)
      return wrong(page, "it is not in the file");
    if (file_.at<std::uint64_t>(page * page_bytes_) != page)
      return wrong(page, "it has a wrong number");
    // A page occurs once in the trees: more visits than pages mean a cycle.
    if ((visited_ += pages) > last_page_)
      return wrong(page, "it is used twice");
    return true;
  }

  bool tree_is_whole(std::uint64_t page, int depth, std::size_t database) {
    if (!is_in_file(page))
      return false;
    const auto at = page * page_bytes_;
    const auto flags = file_.at<std::uint16_t>(at + layout::flags_at) & ~layout::dirty_flag;
    const std::uint64_t lower = file_.at<std::uint16_t>(at + layout::lower_at),
                        upper = file_.at<std::uint16_t>(at + layout::upper_at);
    if (flags != (depth > 1 ? layout::branch_flag : layout::leaf_flag))
      return wrong(page, "it has the wrong kind for its position in the tree");
    if (lower < layout::page_header_bytes || lower % 2 != 0 || lower > upper || upper > page_bytes_)
      return wrong(page, "its bounds are wrong");
    const auto nodes = (lower - layout::page_header_bytes) / 2;
    // LMDB asserts this for rows.
    if (nodes < (depth > 1 && database == rows ? 2U : 1U))
      return wrong(page, "it has too few nodes");
    for (std::uint64_t n = 0; n < nodes; ++n) {
      const std::uint64_t node = file_.at<std::uint16_t>(at + layout::page_header_bytes + 2 * n);
      if (node < upper || node % 2 != 0 || node + layout::node_header_bytes > page_bytes_)
        return wrong(page, "a node lies outside of it");
      if (!(depth > 1 ? branch_is_whole(page, node, depth, database) : leaf_is_whole(page, node, database)))
        return false;
    }
    return true;
  }

  bool branch_is_whole(std::uint64_t page, std::uint64_t node, int depth, std::size_t database) {
    const auto at = page * page_bytes_ + node;
    const std::uint64_t key_bytes = file_.at<std::uint16_t>(at + layout::key_bytes_at);
    if (key_bytes > key_bytes_max || node + layout::node_header_bytes + key_bytes > page_bytes_)
      return wrong(page, "a key ends outside of it");
    const auto below = file_.at<std::uint16_t>(at) | std::uint64_t{file_.at<std::uint16_t>(at + 2)} << 16 |
                       std::uint64_t{file_.at<std::uint16_t>(at + layout::node_flags_at)} << 32;
    return tree_is_whole(below, depth - 1, database);
  }

  bool leaf_is_whole(std::uint64_t page, std::uint64_t node, std::size_t database) {
    const auto at = page * page_bytes_ + node;
    const std::uint64_t key_bytes = file_.at<std::uint16_t>(at + layout::key_bytes_at);
    const auto value_bytes = file_.at<std::uint16_t>(at) | std::uint64_t{file_.at<std::uint16_t>(at + 2)} << 16;
    const auto flags = file_.at<std::uint16_t>(at + layout::node_flags_at);
    const bool big = flags == layout::big_value_flag;
    if (flags != 0 && !big)
      return wrong(page, "a node has flags that are not used here");
    if (key_bytes == 0 || key_bytes > key_bytes_max ||
        node + layout::node_header_bytes + key_bytes + (big ? sizeof(std::uint64_t) : value_bytes) > page_bytes_)
      return wrong(page, "a key or a value ends outside of it");
    auto value = at + layout::node_header_bytes + key_bytes;
    if (big) {
      const auto first = file_.at<std::uint64_t>(value);
      if (!is_in_file(first))
        return false;
      const auto overflow = first * page_bytes_;
      const std::uint64_t pages = file_.at<std::uint32_t>(overflow + layout::overflow_pages_at);
      --visited_; // counted again with those after it
      if ((file_.at<std::uint16_t>(overflow + layout::flags_at) & ~layout::dirty_flag) != layout::overflow_flag ||
          pages != (layout::page_header_bytes + value_bytes + page_bytes_ - 1) / page_bytes_)
        return wrong(first, "it is too small for its value");
      if (!is_in_file(first, pages))
        return false;
      value = overflow + layout::page_header_bytes;
    }
    return database != free_pages || free_list_is_whole(page, value, value_bytes, key_bytes);
  }

  /// A list in LMDB: its length, then page numbers in descending order.
  bool free_list_is_whole(std::uint64_t page, std::uint64_t at, std::uint64_t bytes, std::uint64_t key_bytes) {
    constexpr auto number = sizeof(std::uint64_t);
    if (key_bytes != number || bytes < number || bytes % number != 0)
      return wrong(page, "a list of free pages has a wrong size");
    const auto listed = file_.at<std::uint64_t>(at);
    if (listed > bytes / number - 1)
      return wrong(page, "a list of free pages is longer than its value");
    for (std::uint64_t n = 1, before = last_page_ + 1; n <= listed; ++n) {
      const auto free = file_.at<std::uint64_t>(at + n * number);
      if (free < 2 || free >= before)
        return wrong(page, "a list of free pages has an invalid page number");
      before = free;
    }
    listed_ += listed;
    return true;
  }

  const mapped_file& file_;
  std::uint64_t page_bytes_ = 0, last_page_ = 0, visited_ = 0;
  std::uint64_t listed_ = 0; ///< free pages
  std::string why_;
};

} // namespace

status check_lmdb_pages(const std::string& path) {
  mapped_file file;
  if (auto s = file.open(path); !s)
    return s;
  page_check check(file);
  if (check.run())
    return done{};
  return failure{path + " is damaged: " + check.reason(), failure_kind::unproven};
}

} // namespace belay::storage
