#include "protocol/archive/gzip.hpp"
#include "protocol/archive/snapshot_archive.hpp"
#include "protocol/base/random.hpp"

#include <catch2/catch.hpp>

#include <zlib.h>

#include <cstdio>

using namespace belay;
using namespace belay::archive;

namespace {

archive_meta meta_of(std::string_view state) {
  archive_meta m;
  m.index = log_index{111};
  m.term = term_id{3};
  m.time_ms = 1'795'218'087'396;
  m.servers.push_back({"6d1f1c5e-2d0b-4c0c-9a8a-51f0f3a4b7c9", "127.0.0.1:8300", true});
  m.state_bytes = state.size();
  return m;
}

std::string packed(std::string_view state, std::size_t piece) {
  std::string out;
  archive_writer w(meta_of(state));
  w.begin(out);
  for (std::size_t at = 0; at < state.size(); at += piece)
    w.add(state.substr(at, piece), out);
  w.finish(out);
  return out;
}

std::string random_bytes(std::size_t n, std::uint64_t seed) {
  seeded_random random(seed);
  std::string out;
  for (std::size_t i = 0; i < n; ++i)
    out += static_cast<char>(random.below(i % 2 == 0 ? 256 : 4)); // shrinks, but not to nothing
  return out;
}

struct unpacked {
  std::string state;
  std::optional<std::string> error;
};

unpacked unpack(std::string_view archive, std::size_t piece, std::size_t state_max = 1u << 16) {
  unpacked u;
  archive_reader r;
  while (!archive.empty()) {
    auto part = archive.substr(0, piece);
    archive.remove_prefix(part.size());
    bool all = false;
    while (!all) {
      std::string state;
      if ((u.error = r.take(part, state, state_max)))
        return u;
      all = state.size() < state_max;
      u.state += state;
    }
  }
  u.error = r.finish();
  return u;
}

/// @pre it is smaller than 8 KiB
std::string tar_in(const std::string& archive) {
  std::string tar(8192, '\0');
  z_stream z{};
  REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(archive.data()));
  z.avail_in = static_cast<uInt>(archive.size());
  z.next_out = reinterpret_cast<Bytef*>(tar.data());
  z.avail_out = static_cast<uInt>(tar.size());
  REQUIRE(inflate(&z, Z_FINISH) == Z_STREAM_END);
  tar.resize(z.total_out);
  inflateEnd(&z);
  return tar;
}

std::string gzipped(const std::string& tar) {
  std::string archive;
  REQUIRE(append_gzip(archive, tar));
  return archive;
}

/// With the given size and the right checksum.
std::string tar_head(std::string_view name, std::uint64_t bytes) {
  std::string h(512, '\0');
  h.replace(0, name.size(), name);
  char number[16];
  std::snprintf(number, sizeof number, "%011llo", static_cast<unsigned long long>(bytes));
  h.replace(124, 11, number);
  h[156] = '0';
  h.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : h)
    sum += static_cast<unsigned char>(c);
  std::snprintf(number, sizeof number, "%06o", sum);
  h.replace(148, 6, number);
  h[154] = '\0';
  return h;
}

} // namespace

TEST_CASE("SHA-256 of the examples in FIPS 180-4, in pieces of any size") {
  struct row {
    std::string text;
    const char* sum;
  };
  const row rows[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& r : rows)
    for (const std::size_t piece : {1, 63, 64, 65, 1'000'000}) {
      sha256 sum;
      for (std::size_t at = 0; at < r.text.size(); at += piece)
        sum.add(std::string_view(r.text).substr(at, piece));
      CHECK(sum.hex() == r.sum);
      CHECK(sum.hex() == r.sum); // reading it changes nothing
    }
}

TEST_CASE("an archive survives a round trip, in pieces of any size") {
  for (const std::size_t bytes : {0, 1, 511, 512, 513, 70'000, 300'000}) {
    const auto state = random_bytes(bytes, bytes + 1);
    for (const std::size_t piece : {1u << 20, 700u}) {
      const auto archive = packed(state, piece);
      for (const std::size_t read : {std::size_t{1u << 20}, std::size_t{997}, std::size_t{1}}) {
        if (read == 1 && bytes > 1000)
          continue;
        INFO(bytes << " bytes by " << piece << ", read by " << read);
        const auto u = unpack(archive, read);
        CHECK_FALSE(u.error);
        CHECK(u.state == state);
      }
    }
  }
}

TEST_CASE("output that unpacks to too much is returned in parts") {
  const std::string zeros(8u << 20, '\0');
  const auto archive = packed(zeros, 1u << 20);
  REQUIRE(archive.size() < 100'000);
  archive_reader r;
  std::string_view rest = archive;
  std::size_t all = 0;
  for (bool more = true; more;) {
    std::string state;
    REQUIRE_FALSE(r.take(rest, state, 100'000));
    CHECK(state.size() < 300'000);
    more = state.size() >= 100'000;
    all += state.size();
  }
  CHECK(all == zeros.size());
  CHECK_FALSE(r.finish());
}

TEST_CASE("bytes that are not an archive are rejected with Consul's texts") {
  const auto whole = packed(random_bytes(5000, 1), 1000);
  CHECK(unpack("", 10).error == "failed to decompress snapshot: EOF");
  CHECK(unpack("this is no snapshot", 100).error == "failed to decompress snapshot: gzip: invalid header");
  // Go reads ten bytes before it checks them.
  CHECK(unpack("garbage", 100).error == "failed to decompress snapshot: unexpected EOF");
  CHECK(unpack("garbage", 1).error == "failed to decompress snapshot: unexpected EOF");
  CHECK(unpack("nine byte", 4).error == "failed to decompress snapshot: unexpected EOF");
  CHECK(unpack("ten bytes.", 4).error == "failed to decompress snapshot: gzip: invalid header");
  CHECK(unpack(whole.substr(0, 5), 100).error == "failed to decompress snapshot: unexpected EOF");
  CHECK(unpack(whole.substr(0, whole.size() - 20), 100).error ==
        "failed to read snapshot file: failed to read snapshot hashes: unexpected EOF");
}

TEST_CASE("an archive that is cut anywhere, or has one wrong byte, is refused") {
  const auto state = random_bytes(3000, 2);
  const auto whole = packed(state, 1000);
  REQUIRE_FALSE(unpack(whole, 4096).error);
  for (std::size_t cut = 0; cut < whole.size(); cut += 3) {
    INFO("cut at " << cut);
    CHECK(unpack(whole.substr(0, cut), 4096).error);
  }
  std::size_t accepted = 0;
  // Bytes 4 to 9 of gzip's header (time, compressor flags, system) do not affect the content.
  for (std::size_t at = 10; at < whole.size(); ++at) {
    INFO("byte " << at);
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    // Zeros of the tar may be copied from any zeros: the same content in another encoding.
    const auto u = unpack(damaged, 4096);
    CHECK((u.error || u.state == state));
    accepted += u.error ? 0 : 1;
  }
  CHECK(accepted < whole.size() / 50);
}

TEST_CASE("a wrong checksum inside an archive with correct compression names its file") {
  const auto tar = tar_in(packed("the state", 100));
  struct row {
    const char *text, *other, *error;
  };
  const row rows[] = {
      {"the state", "the State", "failed checking integrity of snapshot: hash check failed for \"state.bin\""},
      {"\"Index\":111", "\"Index\":112", "failed checking integrity of snapshot: hash check failed for \"meta.json\""},
  };
  for (const auto& r : rows) {
    auto changed = tar;
    const auto at = changed.find(r.text);
    REQUIRE(at != std::string::npos);
    changed.replace(at, std::string_view(r.text).size(), r.other);
    CHECK(unpack(gzipped(changed), 100).error == std::string("failed to read snapshot file: ") + r.error);
  }
  CHECK(tar.find("{\"Version\":1,\"ID\":\"3-111-1795218087396\",\"Index\":111,\"Term\":3,\"Peers\":\"") !=
        std::string::npos);
  CHECK(tar.find("\"ConfigurationIndex\":1,\"Size\":9}\n") != std::string::npos);
}

TEST_CASE("after the last file an archive may have some zeros, and nothing else") {
  const auto tar = tar_in(packed("the state", 100));
  const auto with = [&](std::string more) { return unpack(gzipped(tar + std::move(more)), 1000); };
  const std::string refusal = "failed to read snapshot file: there is data after the end of the archive";
  CHECK_FALSE(with(std::string(10'240, '\0')).error); // as GNU tar writes it
  CHECK(with(std::string(100'000, '\0')).error == refusal);
  CHECK(with("x").error == refusal);
  CHECK(with(std::string(512, '\0') + tar).error == refusal);
  CHECK(unpack(gzipped(tar) + "more", 1000).error == "failed to decompress snapshot: gzip: invalid header");
}

TEST_CASE("files that are not read have limits, and occur once") {
  const std::string meta(1u << 20, 'm');
  const auto of = [](const std::string& tar) { return unpack(gzipped(tar), 1000).error.value_or("(taken)"); };
  CHECK(of(tar_head("meta.json", meta.size()) + meta) ==
        "failed to read snapshot file: failed checking integrity of snapshot: hash check failed for \"meta.json\"");
  CHECK(of(tar_head("meta.json", meta.size() + 1)) ==
        "failed to read snapshot file: meta.json has more than 1048576 bytes");
  CHECK(of(tar_head("meta.json", 1ULL << 32)) == "failed to read snapshot file: meta.json has more than 1048576 bytes");
  CHECK(of(tar_head("SHA256SUMS", 4097)) == "failed to read snapshot file: unexpected file \"SHA256SUMS\" in snapshot");
  CHECK(of(tar_head("SHA256SUMS", 0) + tar_head("SHA256SUMS", 0)) ==
        "failed to read snapshot file: unexpected file \"SHA256SUMS\" in snapshot");
}
