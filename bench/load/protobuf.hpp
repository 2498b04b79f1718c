#pragma once
// Encodes and decodes the subset of protobuf that etcd's messages need.

#include "bench/load/event_loop.hpp"

struct protobuf {
  std::string s;
  void varint(u64 v) {
    while (v >= 128) {
      s += char(v | 128);
      v >>= 7;
    }
    s += char(v);
  }
  protobuf& num(int f, u64 v) {
    varint(u64(f) << 3);
    varint(v);
    return *this;
  }
  protobuf& bytes(int f, std::string_view v) {
    varint(u64(f) << 3 | 2);
    varint(v.size());
    s += v;
    return *this;
  }
  protobuf& msg(int f, const protobuf& m) { return bytes(f, m.s); }
};

struct protobuf_reader {
  std::string_view b;
  int field = 0, wire = 0;
  u64 v = 0;
  std::string_view d;
  bool bad = false;
  explicit protobuf_reader(std::string_view x) : b(x) {}
  bool varint(u64& o) {
    o = 0;
    for (int sh = 0; sh < 64 && !b.empty(); sh += 7) {
      uint8_t c = uint8_t(b[0]);
      b.remove_prefix(1);
      o |= u64(c & 127) << sh;
      if (!(c & 128))
        return true;
    }
    bad = true;
    return false;
  }
  bool next() {
    if (b.empty() || bad)
      return false;
    u64 t;
    if (!varint(t))
      return false;
    field = int(t >> 3);
    wire = int(t & 7);
    if (wire == 0)
      return varint(v);
    size_t n;
    if (wire == 2) {
      u64 l;
      if (!varint(l))
        return false;
      n = size_t(l);
    } else if (wire == 1) {
      n = 8;
    } else if (wire == 5) {
      n = 4;
    } else {
      bad = true;
      return false;
    }
    if (n > b.size()) {
      bad = true;
      return false;
    }
    d = b.substr(0, n);
    b.remove_prefix(n);
    return true;
  }
};
