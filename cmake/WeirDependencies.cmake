include(WeirArchives)

# Debian 12 packages (deploy/packages.txt). Each is found here, once, under the name the folders link to.
find_package(Threads REQUIRED)
set(Protobuf_USE_STATIC_LIBS ${WEIR_STATIC_PACKAGES})
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)
find_package(gRPC CONFIG REQUIRED)
if(WEIR_STATIC_PACKAGES)
  weir_link_archives()
endif()
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibArchive REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(CBC REQUIRED IMPORTED_TARGET cbc)
if(WEIR_STATIC_PACKAGES)
  weir_link_solver_archives(CBC)
endif()
# Only tests/bench/simgrid, and only where it is installed.
pkg_check_modules(SIMGRID IMPORTED_TARGET simgrid)

# Asio and CLI11 and nlohmann-json are header-only.
add_library(weir_asio INTERFACE)
target_compile_definitions(weir_asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(weir_asio INTERFACE Threads::Threads)
# Asio 1.22 looks for the macro that Clang had before coroutines were standard.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  target_compile_definitions(weir_asio INTERFACE ASIO_HAS_CO_AWAIT ASIO_HAS_STD_COROUTINE)
endif()
# GCC 12 with sanitizers takes the coroutine frame's own operator new and delete for a mismatch, and says of Asio's
# fences that ThreadSanitizer does not see them; Asio pairs each with an atomic that it does see.
target_compile_options(weir_asio INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete;-Wno-tsan>)

if(NOT DEFINED BUILD_TESTING OR BUILD_TESTING)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
  # RapidCheck's own headers do not pass our warnings.
  add_library(weir_rapidcheck INTERFACE)
  target_link_libraries(weir_rapidcheck INTERFACE rapidcheck)
  get_target_property(_rc_inc rapidcheck INTERFACE_INCLUDE_DIRECTORIES)
  if(_rc_inc)
    target_include_directories(weir_rapidcheck SYSTEM INTERFACE ${_rc_inc})
  endif()
endif()
