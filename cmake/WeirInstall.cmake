# What `cmake --install` puts under a prefix, by components (docs/adr/0017-what-is-installed.md):
#   weir     the program, its man pages and completions
#   dev      headers, libraries and CMake files for jobs and programs outside of this repository
#   service  systemd units and their files below /etc: in packages only
# Included last: it looks at targets that exist.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# weir_closure(OUT TARGET...)
# The targets of ours that these stand on, themselves included, and in OUT_OUTSIDE what all of them link of packages.
function(weir_closure out)
  set(_open ${ARGN})
  set(_ours)
  set(_outside)
  while(_open)
    list(POP_FRONT _open _name)
    if(_name MATCHES "^\\$<LINK_ONLY:(.*)>$")
      set(_name "${CMAKE_MATCH_1}")
    endif()
    if(_name IN_LIST _ours OR _name IN_LIST _outside)
      continue()
    endif()
    if(NOT _name MATCHES "^weir_")
      list(APPEND _outside "${_name}")
      continue()
    endif()
    list(APPEND _ours "${_name}")
    get_target_property(_deps ${_name} INTERFACE_LINK_LIBRARIES)
    if(_deps)
      list(APPEND _open ${_deps})
    endif()
  endwhile()
  list(SORT _outside)
  set(${out} "${_ours}" PARENT_SCOPE)
  set(${out}_OUTSIDE "${_outside}" PARENT_SCOPE)
endfunction()

# weir_installed_library(NAME TARGET...)
# One archive libweir_NAME.a of these libraries and all of ours below them, which programs link as weir::NAME: our rooms
# are not the users' business. A set of exports of its own, so that who asks for one needs only its packages.
function(weir_installed_library name)
  weir_closure(_ours ${ARGN})
  set(_target weir_installed_${name})
  add_library(${_target} STATIC)
  foreach(_library IN LISTS _ours)
    get_target_property(_type ${_library} TYPE)
    if(_type STREQUAL STATIC_LIBRARY)
      target_sources(${_target} PRIVATE $<TARGET_OBJECTS:${_library}>)
    endif()
  endforeach()
  set_target_properties(${_target} PROPERTIES OUTPUT_NAME weir_${name} EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  # A consumer's flags, not only its standard: Abseil's headers want the same one as its library.
  target_compile_features(${_target} INTERFACE cxx_std_20)
  target_link_libraries(${_target} INTERFACE ${_ours_OUTSIDE})
  install(TARGETS ${_target} EXPORT weir_${name} COMPONENT dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT weir_${name} NAMESPACE weir:: FILE weir-${name}.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir COMPONENT dev)
endfunction()

# weir_pkg_config(NAME REQUIRES pkg-config modules LIBRARIES those without a module)
# weir-NAME.pc for libweir_NAME.a, so that `pkg-config --cflags --libs weir-NAME` is all that a compiler has to be told.
function(weir_pkg_config name)
  cmake_parse_arguments(ARG "" "" "REQUIRES;LIBRARIES" ${ARGN})
  list(JOIN ARG_REQUIRES " " WEIR_PC_REQUIRES)
  list(TRANSFORM ARG_LIBRARIES PREPEND "-l")
  list(JOIN ARG_LIBRARIES " " WEIR_PC_LIBRARIES)
  set(WEIR_PC_NAME "${name}")
  file(RELATIVE_PATH WEIR_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${CMAKE_SOURCE_DIR}/cmake/library.pc.in" "${CMAKE_BINARY_DIR}/cmake/weir-${name}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/cmake/weir-${name}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# Everything that is installed and has to be built for it.
add_custom_target(weir_installed ALL)

include(WeirInstallHeaders)
include(WeirManual)
include(WeirHadoop)

weir_installed_library(job weir_jobs_engine weir_jobs_records weir_jobs_testing weir_jobs_api)
weir_installed_library(reduce weir_reduce)
weir_pkg_config(reduce
  REQUIRES absl_status absl_statusor absl_strings absl_str_format absl_time absl_flat_hash_map absl_btree absl_synchronization
           grpc++ protobuf libxxhash liblz4 libzstd zlib openssl spdlog fmt
  LIBRARIES grpc++_reflection)
add_dependencies(weir_installed weir weir_installed_job weir_installed_reduce weir_installed_headers weir_manual)

install(TARGETS weir RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT weir)
configure_package_config_file("${CMAKE_SOURCE_DIR}/cmake/weirConfig.cmake.in" "${CMAKE_BINARY_DIR}/cmake/weirConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
# Before 1.0 a minor version may change what a job is compiled against.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/cmake/weirConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/cmake/weirConfig.cmake" "${CMAKE_BINARY_DIR}/cmake/weirConfigVersion.cmake"
  "${CMAKE_SOURCE_DIR}/cmake/WeirAddJob.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir COMPONENT dev)
install(FILES "${CMAKE_SOURCE_DIR}/runtime/reduce/example/gradient_sum.cc"
  "${CMAKE_SOURCE_DIR}/runtime/reduce/example/installed/CMakeLists.txt"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libweir-dev/examples/reduce COMPONENT dev)

include(WeirPackages)
