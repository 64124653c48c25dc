# The three ways a target of ours is declared. Sources are listed by name and dependencies exactly,
# so that the link line says the same as tests/lint/layering.rules.

# weir_library(NAME SOURCES a.cc HEADERS a.h DEPS other_target ...)
function(weir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
    target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
    target_link_libraries(${name} PUBLIC ${ARG_DEPS})
    target_compile_options(${name} PRIVATE ${WEIR_WARNINGS})
    weir_use_precompiled(${name} library)
  else()
    add_library(${name} INTERFACE ${ARG_HEADERS})
    target_include_directories(${name} INTERFACE "${CMAKE_SOURCE_DIR}")
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# weir_compile_files_alone(TARGET)
# Whatever WEIR_UNITY_BUILD says: names within its files are the same, as those that protoc makes.
function(weir_compile_files_alone name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
endfunction()

# weir_program(NAME SOURCES main.cc DEPS ...)
function(weir_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS})
endfunction()

# The programs of the tests that run under sanitizers too (CMakePresets.json): those labelled unit and sim.
add_custom_target(weir_sanitized_tests)
# tests/run compiles and runs those labelled unit once, under sanitizers: the release build is 223 files then, not 280.
option(WEIR_BUILD_UNIT_TESTS "Build the tests labelled unit with all the rest" ON)

# weir_label_test(NAME PROGRAM LABEL TIMEOUT)
# Names what ctest runs, and has its program built where its label is wanted.
function(weir_label_test name program label timeout)
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout})
  if(label MATCHES "^(unit|sim)$")
    add_dependencies(weir_sanitized_tests ${program})
  endif()
  if(label STREQUAL unit AND NOT WEIR_BUILD_UNIT_TESTS)
    set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# weir_test_library(NAME SOURCES a.cc HEADERS a.h DEPS ...)
# What several test programs share, compiled once, as tests are.
function(weir_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} GTest::gmock weir_rapidcheck)
  # -fPIE as in programs: the precompiled header is theirs.
  target_compile_options(${name} PRIVATE -fPIE ${WEIR_WARNINGS} ${WEIR_TEST_OPTIONS})
  weir_use_precompiled(${name} test)
endfunction()

# weir_test(NAME SOURCES a_test.cc DEPS ... [LABEL unit] [TIMEOUT seconds])
# One program per folder under test; ctest runs it whole. Links gtest_main, gmock and RapidCheck.
function(weir_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main weir_rapidcheck)
  target_compile_options(${name} PRIVATE ${WEIR_WARNINGS} ${WEIR_TEST_OPTIONS})
  weir_use_precompiled(${name} test)
  add_test(NAME ${name} COMMAND ${name})
  weir_label_test(${name} ${name} ${ARG_LABEL} ${ARG_TIMEOUT})
endfunction()
