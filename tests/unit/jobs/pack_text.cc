#include "tests/unit/jobs/pack_text.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace weir {
namespace {

std::string PackGzip(std::string_view text, int level) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  // zlib does not write to what it reads; its interface is older than const.
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string Pack(Packing packing, std::string_view text, int level) {
  return packing == Packing::kGzip ? PackGzip(text, level) : PackZstd(text, {.level = level});
}

std::string PackZstd(std::string_view text, const ZstdForm& form) {
  ZSTD_CCtx* const packer = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(packer, ZSTD_c_compressionLevel, form.level);
  ZSTD_CCtx_setParameter(packer, ZSTD_c_checksumFlag, form.checksum ? 1 : 0);
  ZSTD_CCtx_setParameter(packer, ZSTD_c_contentSizeFlag, form.text_bytes ? 1 : 0);
  ZSTD_CCtx_setParameter(packer, ZSTD_c_windowLog, form.window_log);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  std::size_t bytes = 0;
  if (form.text_bytes) {
    bytes = ZSTD_compress2(packer, out.data(), out.size(), text.data(), text.size());
  } else {
    // As a stream whose size nobody knows before its end.
    ZSTD_inBuffer in{text.data(), text.size(), 0};
    ZSTD_outBuffer into{out.data(), out.size(), 0};
    EXPECT_EQ(ZSTD_isError(ZSTD_compressStream2(packer, &into, &in, ZSTD_e_continue)), 0u);
    EXPECT_EQ(ZSTD_compressStream2(packer, &into, &in, ZSTD_e_end), 0u);
    bytes = into.pos;
  }
  EXPECT_EQ(ZSTD_isError(bytes), 0u);
  ZSTD_freeCCtx(packer);
  out.resize(bytes);
  return out;
}

std::string PackBgzf(std::string_view text) {
  std::string member = PackGzip(text, 6);
  member[3] = 4;  // there is an extra field
  member.insert(10, std::string("\x06\0BC\x02\0\0\0", 8));
  const std::size_t last = member.size() - 1;
  EXPECT_LT(last, std::size_t{1} << 16);
  member[16] = static_cast<char>(last);
  member[17] = static_cast<char>(last >> 8);
  return member;
}

std::string SkippableZstd(std::string_view content) {
  std::string frame("\x53\x2A\x4D\x18", 4);
  for (int shift = 0; shift < 32; shift += 8) {
    frame.push_back(static_cast<char>(content.size() >> shift));
  }
  return frame.append(content);
}

const char* EndingOf(Packing packing) { return packing == Packing::kGzip ? ".gz" : ".zst"; }

}  // namespace weir
