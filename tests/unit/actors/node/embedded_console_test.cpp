// The embedded console: complete, small, and without anything that its policy would block.

#include "console/embedded.hpp"

#include <catch2/catch.hpp>

#include <zlib.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

using namespace belay;

namespace {

std::string unpacked(std::string_view packed, std::size_t bytes) {
  z_stream z{};
  REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
  std::string in(packed);
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  std::string out(bytes + 1, '\0');
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  inflateEnd(&z);
  return out;
}

/// All matches of the first group of the expression in the text.
std::vector<std::string> all_of(std::string_view text, const char* expression) {
  const std::regex wanted(expression);
  std::vector<std::string> found;
  for (std::cregex_iterator at(text.data(), text.data() + text.size(), wanted), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

} // namespace

TEST_CASE("the console: all of it together is smaller than 150 KB when it is sent") {
  std::size_t sent = 0;
  for (const auto& [path, file] : console::embedded().files) {
    INFO(path);
    CHECK(unpacked(*file.gzip, file.plain->size()) == *file.plain);
    sent += file.gzip->size();
  }
  CHECK(sent < 150'000);
}

TEST_CASE("the console: each referenced file exists") {
  const auto& files = console::embedded().files;
  REQUIRE(files.contains(""));
  const auto& page = *files.at("").plain;
  CHECK(page.find("assets/") == std::string::npos);
  for (const auto& name : all_of(page, R"re((?:src|href)="([^"]+)")re"))
    CHECK(files.contains(name));
  for (const auto& [path, file] : files) {
    if (!path.ends_with(".js"))
      continue;
    for (const auto& name : all_of(*file.plain, R"re((?:from|import)\s*\(?\s*["'](\.[^"']+)["'])re")) {
      INFO(path << " wants " << name);
      const auto folder = std::filesystem::path(path).parent_path();
      CHECK(files.contains((folder / name).lexically_normal().generic_string()));
    }
  }
  const auto folders = all_of(page, R"re(src="([^"]+)/main\.js")re");
  REQUIRE(folders.size() == 1);
  CHECK(files.contains(folders.front() + "/worker.js"));
}

// The policy would block it, and only a browser would show that the page is broken.
TEST_CASE("the console: no script or style within the page, no markup made of text") {
  for (const auto& [path, file] : console::embedded().files) {
    INFO(path);
    const auto& text = *file.plain;
    CHECK(all_of(text, R"re((<script>|<style>| on[a-z]+="))re").empty());
    CHECK(
        all_of(text, R"re((innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function))re").empty());
    if (!path.ends_with(".svg")) // an XML namespace looks like an address, and is not one
      for (const auto& address : all_of(text, R"re((https?://[a-z0-9.]+))re"))
        CHECK((address == "http://www.w3.org" || address == "http://127.0.0.1" || address == "http://localhost"));
  }
}
