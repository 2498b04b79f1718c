// Writes a C++ source that contains the files of the console. Files in assets/ move to a folder
// named by a hash of all files, also in the page's references; their own references are relative.
//
// usage: embed_console FOLDER SOURCE

#include "protocol/archive/sha256.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view assets = "assets/", page = "index.html";
constexpr std::size_t hash_digits = 16;

[[noreturn]] void give_up(const std::string& text) {
  std::cerr << "embed_console: " << text << '\n';
  std::exit(1);
}

std::map<std::string, std::string> read_files(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file())
      continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in)
      give_up("cannot read " + entry.path().string());
    files[entry.path().lexically_relative(folder).generic_string()] = text.str();
  }
  return files;
}

std::string content_type_of(const std::string& path) {
  const auto ending = std::filesystem::path(path).extension();
  for (const auto& [known, type] : {std::pair{".html", "text/html; charset=utf-8"},
                                    {".css", "text/css; charset=utf-8"},
                                    {".js", "text/javascript; charset=utf-8"},
                                    {".svg", "image/svg+xml"}})
    if (ending == known)
      return type;
  give_up("what is " + path + "?");
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string gzip(const std::string& bytes) {
  constexpr int gzip_format = 15 + 16, memory = 9;
  z_stream z{};
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_format, memory, Z_DEFAULT_STRATEGY) != Z_OK)
    give_up("no memory");
  std::string out(deflateBound(&z, bytes.size()), '\0');
  std::string in = bytes; // zlib needs a writable input
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  if (deflate(&z, Z_FINISH) != Z_STREAM_END)
    give_up("cannot compress");
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

void write_bytes(std::ostream& out, const std::string& name, const std::string& bytes) {
  out << "constexpr unsigned char " << name << "[] = {";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out << (i % 32 == 0 ? "\n" : "") << static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) << ',';
  out << "};\n";
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    give_up("usage: embed_console FOLDER SOURCE");
  const auto files = read_files(argv[1]);
  if (!files.contains(std::string(page)))
    give_up("there is no " + std::string(page));
  belay::archive::sha256 all;
  for (const auto& [path, text] : files)
    all.add(path).add(std::string_view("\0", 1)).add(text);
  const auto hash = all.hex().substr(0, hash_digits);

  std::ofstream out(argv[2]);
  out << "// Written by console/embed.cpp.\n#include \"console/embedded.hpp\"\n\nnamespace belay::console {\nnamespace "
         "{\n";
  std::ostringstream rows;
  std::size_t n = 0, compressed = 0;
  for (const auto& [path, text] : files) {
    const bool is_page = path == page;
    if (!is_page && !path.starts_with(assets))
      give_up(path + " is not below " + std::string(assets));
    const auto plain = is_page ? replaced(text, assets, hash + '/') : text;
    const auto packed = gzip(plain);
    compressed += packed.size();
    const auto number = std::to_string(n++);
    write_bytes(out, "plain_" + number, plain);
    write_bytes(out, "gzip_" + number, packed);
    rows << "  add(\"" << (is_page ? "" : hash + '/' + path.substr(assets.size())) << "\", \"" << content_type_of(path)
         << "\", plain_" << number << ", gzip_" << number << ");\n";
  }
  out << R"(
template <std::size_t N>
payload bytes_of(const unsigned char (&bytes)[N]) {
  return make_payload({reinterpret_cast<const char*>(bytes), N});
}

http::console_files all_files() {
  http::console_files all;
  const auto add = [&](const char* path, const char* type, const auto& plain, const auto& gzip) {
    all.files[path] = {type, bytes_of(plain), bytes_of(gzip)};
  };
)" << rows.str()
      << "  all.page_tag = \"\\\"" << hash << "\\\"\";\n"
      << R"(  return all;
}

} // namespace

const http::console_files& embedded() {
  static const auto files = all_files();
  return files;
}

} // namespace belay::console
)";
  if (!out.flush())
    give_up(std::string("cannot write ") + argv[2]);
  std::cout << "the console: " << files.size() << " files, " << compressed << " bytes compressed\n";
}
