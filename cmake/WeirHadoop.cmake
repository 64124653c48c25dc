# What `weir hadoop-home` names: a folder that looks like Hadoop's to programs around it. bin/hadoop calls `weir hadoop`; the
# jar of Hadoop Streaming is empty: programs look for a file of its name. In no path, so that it is in nobody's way.
function(weir_hadoop_home directory weir)
  set(WEIR_FROM_HADOOP "${weir}")
  configure_file("${CMAKE_SOURCE_DIR}/deploy/hadoop/hadoop.in" "${directory}/bin/hadoop" @ONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  file(WRITE "${directory}/share/hadoop/tools/lib/hadoop-streaming-weir.jar" "")
endfunction()

# Beside the program in the build directory.
weir_hadoop_home("${CMAKE_BINARY_DIR}/runtime/app/hadoop" "../../weir")
weir_hadoop_home("${CMAKE_BINARY_DIR}/hadoop-home" "../../../../bin/weir")
install(DIRECTORY "${CMAKE_BINARY_DIR}/hadoop-home/" DESTINATION libexec/weir/hadoop COMPONENT weir USE_SOURCE_PERMISSIONS)
