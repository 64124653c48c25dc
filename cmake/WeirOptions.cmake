# Compiler settings shared by every target. Presets (CMakePresets.json) choose among them.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(WEIR_SANITIZE "" CACHE STRING "Sanitizers, as given to -fsanitize= (for example address,undefined)")
set(WEIR_SANITIZE_BUT "" CACHE STRING "Checks that WEIR_SANITIZE leaves out, as given to -fno-sanitize=")
option(WEIR_FUZZ "Build the fuzz targets (needs clang)" OFF)
# Half of the compiler's time is headers that every file of a folder reads again. The presets compile so, that a clash of
# names is seen where it is made and not first in CI; preset plain compiles each file alone.
option(WEIR_UNITY_BUILD "Compile several files of a target at once" OFF)
if(WEIR_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
  # GCC walks all it holds, to free little, each time that its heap has grown from 128 MB to twice that: where many tests are
  # compiled at once, a tenth of its time. What it makes is the same; it may hold 1 GB before it looks.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(--param=ggc-min-heapsize=524288)
  endif()
endif()

# A process that starts spends most of its time on the libraries of gRPC and Abseil, some fifty: each job starts several.
# Not under sanitizers, where suppressions name libraries.
set(_static ON)
if(WEIR_SANITIZE OR WEIR_FUZZ)
  set(_static OFF)
endif()
option(WEIR_STATIC_PACKAGES "Link gRPC, Protobuf and Abseil into programs" ${_static})

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# CHECK and assertions stay on in release: a failed assertion ends one job, not the data.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE)
  # In depend mode the compiler says what a file includes, and no preprocessor runs before it (0.2 s a file that is not in
  # the cache). The sloppiness allows precompiled headers, of which ccache checks the contents; nothing uses __TIME__.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${WEIR_CCACHE}")
endif()
find_program(WEIR_MOLD mold)
if(WEIR_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -pthread for all, as gRPC asks for it: a precompiled header is taken only under the options it was made with.
add_compile_options(-pthread -fno-omit-frame-pointer -fstack-protector-strong)
if(WEIR_SANITIZE)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  if(WEIR_SANITIZE_BUT)
    add_compile_options(-fno-sanitize=${WEIR_SANITIZE_BUT})
  endif()
  # As GCC says it to sources.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    if(WEIR_SANITIZE MATCHES address)
      add_compile_definitions(__SANITIZE_ADDRESS__=1)
    elseif(WEIR_SANITIZE MATCHES thread)
      add_compile_definitions(__SANITIZE_THREAD__=1)
    endif()
  endif()
endif()
# Tests themselves, apart from what they test, are not optimised under sanitizers, where that is half of the compiler's time,
# and less than users' programs elsewhere, which is a fifth of it (jobs_api_test: 182 s of the compiler's at -O2, 141 s at -O1).
set(WEIR_TEST_OPTIONS -O1)
if(WEIR_SANITIZE)
  set(WEIR_TEST_OPTIONS -O0)
  # A quarter of the compiler's time for tests (a file of jobs_api_test: 97 s with, 72 s without). AddressSanitizer finds null and what is
  # too small; alignment is checked in libraries alone, not in templates that only a test makes.
  if(WEIR_SANITIZE MATCHES undefined)
    list(APPEND WEIR_TEST_OPTIONS -fno-sanitize=null,alignment,object-size,pointer-overflow)
  endif()
endif()
if(WEIR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

set(WEIR_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wvla -Werror)
# Clang also warns of lambda captures named as what they capture from a structured binding, and of what libstdc++ itself
# uses of its own that is deprecated.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  list(APPEND WEIR_WARNINGS -Wno-shadow -Wno-deprecated-declarations)
  # Names of templates as GCC makes them, which compiled the packages that we link; Clang 18 and later make some anew.
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 18)
    add_compile_options(-fclang-abi-compat=17)
  endif()
endif()
