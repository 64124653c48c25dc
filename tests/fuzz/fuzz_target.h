#pragma once

// The entry that libFuzzer calls, and replay_corpus.cc in builds without it.

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);
