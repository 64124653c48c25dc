# Headers that most files read, parsed once a build: one set for libraries, one for tests, which also have GoogleTest.
# Installed packages only, never ours, so that no change of ours compiles every file again. Left out, because GCC
# instantiates anew in every file what a precompiled header left open, which costs more than it saves where few files
# use it: CLI11 (2.7 s a file), nlohmann/json (0.4 s), RapidCheck (0.25 s).
#
# Every file includes what it uses all the same: preset plain and deploy/Dockerfile build without.
set(_by_default OFF)
if(CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
  set(_by_default ON)
endif()
option(WEIR_PRECOMPILED_HEADERS "Parse the headers of packages once a build, not once a file" ${_by_default})

set(_standard
  <algorithm> <array> <chrono> <cmath> <cstdint> <deque> <functional> <limits> <map> <memory> <mutex> <numeric>
  <optional> <queue> <set> <sstream> <string> <string_view> <tuple> <utility> <variant> <vector>)
set(_abseil
  <absl/container/btree_map.h> <absl/container/btree_set.h> <absl/functional/any_invocable.h>
  <absl/functional/function_ref.h> <absl/status/status.h> <absl/status/statusor.h> <absl/strings/match.h>
  <absl/strings/numbers.h> <absl/strings/str_cat.h> <absl/strings/str_join.h> <absl/strings/string_view.h>
  <absl/time/time.h> <absl/types/span.h>)
# What the headers made by protoc include.
set(_protobuf
  <google/protobuf/arena.h> <google/protobuf/generated_enum_reflection.h> <google/protobuf/generated_message_bases.h>
  <google/protobuf/generated_message_reflection.h> <google/protobuf/message.h> <google/protobuf/repeated_field.h>
  <google/protobuf/unknown_field_set.h>)
set(_googletest <gmock/gmock.h> <gtest/gtest.h>)

# A target of one empty file, from which others take its precompiled headers with weir_use_precompiled. GCC takes them
# only in files compiled with the same options, and -Winvalid-pch makes every other file an error.
function(_weir_precompiled name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;LINK;HEADERS" ${ARGN})
  set(_empty "${CMAKE_BINARY_DIR}/precompiled/${name}.cc")
  file(GENERATE OUTPUT "${_empty}" CONTENT "")
  add_library(${name} OBJECT "${_empty}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS} ${ARG_OPTIONS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # Otherwise what ccache keeps does not fit the header of the next build.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

if(WEIR_PRECOMPILED_HEADERS)
  _weir_precompiled(weir_precompiled_library HEADERS ${_standard} ${_abseil} ${_protobuf})
  if(TARGET GTest::gmock)
    _weir_precompiled(weir_precompiled_test LINK GTest::gmock OPTIONS -fPIE ${WEIR_TEST_OPTIONS}
      HEADERS ${_standard} ${_abseil} ${_protobuf} ${_googletest})
  endif()
endif()

# weir_use_precompiled(TARGET library|test)
# libstdc++ switches three warnings off around std::char_traits, where they are wrong; GCC forgets that when it takes
# the header from a precompiled one.
function(weir_use_precompiled target set)
  if(WEIR_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM weir_precompiled_${set})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
endfunction()
