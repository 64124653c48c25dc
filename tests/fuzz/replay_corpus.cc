// Runs a fuzz target over kept inputs, so that every build checks what fuzzing once found.
// Usage: <target> CORPUS_FOLDER...

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) {
    std::fprintf(stderr, "no inputs: give a corpus folder\n");
    return 1;
  }
  for (const std::filesystem::path& path : paths) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);  // the last line names the input that crashed
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> content{std::istreambuf_iterator<char>(in), {}};
    const std::vector<std::uint8_t> data(content.begin(), content.end());
    LLVMFuzzerTestOneInput(data.data(), data.size());
  }
  std::printf("%zu inputs\n", paths.size());
  return 0;
}
