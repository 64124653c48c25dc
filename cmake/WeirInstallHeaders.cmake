# Headers as users include them: <weir/NAME>, each a line that includes its file of this repository below
# <weir/internal/...>. The build makes the whole tree in include/ of the build directory, from which it is installed as
# it is; programs in this repository may include <weir/...> from there (weir_public_headers).

# NAME=FILE. What jobs/api and the engine's doors offer to authors, and the reduction between processes.
set(_public
  bad_record.h=jobs/api/bad_record.h
  byte_scan.h=jobs/api/scan/byte_scan.h
  element.h=jobs/api/element.h
  group_values.h=jobs/engine/group_values.h
  job_data.h=jobs/api/job_data.h
  job_definition.h=jobs/api/job_definition.h
  key_codec.h=jobs/api/key_codec.h
  key_place.h=jobs/api/key_place.h
  key_prefix.h=jobs/api/key_prefix.h
  loop.h=jobs/api/loop.h
  loop_program.h=jobs/engine/loop_program.h
  make_program.h=jobs/engine/make_program.h
  mark_scan.h=jobs/api/scan/mark_scan.h
  module.h=jobs/api/module.h
  part_lines.h=jobs/api/part_lines.h
  program.h=jobs/api/program.h
  readers.h=jobs/api/readers.h
  records/column_choice.h=jobs/records/column_choice.h
  records/csv_check.h=jobs/records/csv_check.h
  records/csv_columns.h=jobs/records/csv_columns.h
  records/first_lines.h=jobs/records/first_lines.h
  records/number.h=jobs/records/number.h
  records/parameters.h=jobs/records/parameters.h
  records/random_numbers.h=jobs/records/random_numbers.h
  reduce.h=runtime/reduce/reduce.h
  tenths.h=jobs/api/scan/tenths.h
  testing.h=jobs/testing/run_job.h
  text_block.h=jobs/api/text_block.h
  value_codec.h=jobs/api/value_codec.h
  value_program.h=jobs/engine/value_program.h
  vector_program.h=jobs/engine/vector_program.h)

# All headers that these may include; the script takes those that they do.
set(_sources)
foreach(_library weir_jobs_api weir_jobs_packed weir_jobs_engine weir_jobs_engine_input weir_jobs_engine_loop weir_jobs_engine_merge weir_jobs_engine_pairs
        weir_jobs_engine_pieces weir_jobs_engine_references weir_jobs_engine_sections weir_jobs_engine_slots weir_jobs_engine_spill weir_jobs_engine_table weir_jobs_engine_vector
        weir_jobs_records weir_jobs_testing weir_reduce)
  get_target_property(_files ${_library} SOURCES)
  get_target_property(_folder ${_library} SOURCE_DIR)
  list(FILTER _files INCLUDE REGEX "\\.h$")
  list(TRANSFORM _files PREPEND "${_folder}/")
  list(APPEND _sources ${_files})
endforeach()

set(_stamp "${CMAKE_BINARY_DIR}/include/headers.stamp")
list(JOIN _public "," _rows)
add_custom_command(OUTPUT "${_stamp}"
  COMMAND "${CMAKE_COMMAND}" -DROOT=${CMAKE_SOURCE_DIR} -DINTO=${CMAKE_BINARY_DIR}/include "-DPUBLIC=${_rows}"
          -P "${CMAKE_SOURCE_DIR}/cmake/MakePublicHeaders.cmake"
  COMMAND "${CMAKE_COMMAND}" -E touch "${_stamp}"
  DEPENDS ${_sources} "${CMAKE_SOURCE_DIR}/cmake/MakePublicHeaders.cmake"
          "${CMAKE_SOURCE_DIR}/cmake/WeirInstallHeaders.cmake"
  COMMENT "Headers as users include them" VERBATIM)
add_custom_target(weir_installed_headers DEPENDS "${_stamp}")
add_library(weir_public_headers INTERFACE)
target_include_directories(weir_public_headers INTERFACE "${CMAKE_BINARY_DIR}/include")
add_dependencies(weir_public_headers weir_installed_headers)

install(DIRECTORY "${CMAKE_BINARY_DIR}/include/weir" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
