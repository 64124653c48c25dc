#include "runtime/master/input/input_look.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"

namespace weir::master {
namespace {

constexpr std::array<bool, 256> BytesOfWords() {
  std::array<bool, 256> is_of_word = {};
  for (std::size_t byte = 0; byte < is_of_word.size(); ++byte) {
    is_of_word[byte] = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') || byte >= 0x80;
  }
  return is_of_word;
}

constexpr std::array<bool, 256> kIsOfWord = BytesOfWords();

bool IsOfWord(char byte) { return kIsOfWord[static_cast<unsigned char>(byte)]; }

}  // namespace

v1::JobShapeLearned::InputLook CountLook(absl::Span<const std::string> texts) {
  absl::flat_hash_set<std::string_view> different;
  std::int64_t bytes = 0;
  std::int64_t lines = 0;
  std::int64_t words = 0;
  for (const std::string& text : texts) {
    bytes += static_cast<std::int64_t>(text.size());
    lines += std::count(text.begin(), text.end(), '\n');
    auto at = text.begin();
    while (true) {
      const auto begin = std::find_if(at, text.end(), IsOfWord);
      if (begin == text.end()) break;
      at = std::find_if_not(begin, text.end(), IsOfWord);
      different.insert(std::string_view(begin, at));
      ++words;
    }
  }
  v1::JobShapeLearned::InputLook look;
  look.set_bytes(bytes);
  look.set_lines(lines);
  look.set_words(words);
  look.set_new_words(static_cast<std::int64_t>(different.size()));
  return look;
}

void LookAtInput(env::Storage& storage, InputList& input) {
  const std::int64_t place_bytes =
      std::min(kLookPlaceBytes, std::max<std::int64_t>(1, input.total_bytes / kLookPlaces));
  std::vector<std::string> texts;
  std::int64_t file_begin = 0;
  auto file = input.files.begin();
  for (int place = 0; place < kLookPlaces; ++place) {
    const std::int64_t middle = input.total_bytes / (2 * kLookPlaces) * (2 * place + 1);
    while (file != input.files.end() && middle >= file_begin + file->bytes) {
      file_begin += file->bytes;
      ++file;
    }
    if (file == input.files.end()) break;
    if (PackingOf(file->path) != Packing::kNone) continue;
    const std::int64_t last = std::max<std::int64_t>(0, file->bytes - place_bytes);
    const std::int64_t offset =
        std::clamp<std::int64_t>(middle - file_begin - place_bytes / 2, 0, last);
    absl::StatusOr<std::string> text = storage.ReadAt(file->path, offset, place_bytes);
    if (text.ok() && !text->empty()) texts.push_back(*std::move(text));
  }
  input.look.reset();
  if (!texts.empty()) input.look = CountLook(texts);
}

}  // namespace weir::master
