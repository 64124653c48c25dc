# Debian packages: `cpack -G DEB` in a build directory configured for /usr. deploy/make-packages does all of it.
#   weir          the components weir and service
#   libweir-dev   the component dev

# Below /etc and by name of the system's directories: only where packages are made (a prefix elsewhere has no service).
install(FILES deploy/systemd/weir-master.service "deploy/systemd/weir-worker@.service"
  DESTINATION lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
foreach(_name weir-master weir-worker)
  install(FILES deploy/systemd/${_name}.default DESTINATION /etc/default RENAME ${_name} COMPONENT service EXCLUDE_FROM_ALL)
endforeach()

# What Debian wants beside each package.
set(_package_docs "${CMAKE_BINARY_DIR}/package-docs")
add_custom_command(OUTPUT "${_package_docs}/changelog.gz" "${_package_docs}/changelog.Debian.gz"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${_package_docs}"
  COMMAND "${WEIR_GZIP}" -9nc "${CMAKE_SOURCE_DIR}/CHANGELOG.md" > "${_package_docs}/changelog.gz"
  COMMAND "${WEIR_GZIP}" -9nc "${CMAKE_SOURCE_DIR}/deploy/debian/changelog" > "${_package_docs}/changelog.Debian.gz"
  DEPENDS "${CMAKE_SOURCE_DIR}/CHANGELOG.md" "${CMAKE_SOURCE_DIR}/deploy/debian/changelog" VERBATIM)
add_custom_target(weir_package_docs DEPENDS "${_package_docs}/changelog.gz" "${_package_docs}/changelog.Debian.gz")
add_dependencies(weir_installed weir_package_docs)
foreach(_package_and_component "weir;service" "libweir-dev;dev_docs")
  list(GET _package_and_component 0 _package)
  list(GET _package_and_component 1 _component)
  install(FILES deploy/debian/copyright "${_package_docs}/changelog.gz" "${_package_docs}/changelog.Debian.gz"
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${_package} COMPONENT ${_component} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR "The Weir authors")
set(CPACK_PACKAGE_CONTACT "The Weir authors <weir@localhost>")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL weir service dev dev_docs)
# Files below /etc have no prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_WEIR_PACKAGE_NAME weir)
set(CPACK_DEBIAN_WEIR_PACKAGE_SECTION net)
set(CPACK_DEBIAN_WEIR_PACKAGE_SHLIBDEPS ON)
# Abseil for modules; what the program itself needs is found by shlibdeps.
set(CPACK_DEBIAN_WEIR_PACKAGE_DEPENDS "adduser, libabsl20220623")
set(CPACK_DEBIAN_WEIR_PACKAGE_CONTROL_EXTRA
  "${CMAKE_SOURCE_DIR}/deploy/debian/postinst" "${CMAKE_SOURCE_DIR}/deploy/debian/prerm"
  "${CMAKE_SOURCE_DIR}/deploy/debian/postrm" "${CMAKE_SOURCE_DIR}/deploy/debian/conffiles")
# The synopsis is that of the project.
set(CPACK_DEBIAN_WEIR_DESCRIPTION "Weir runs MapReduce jobs on one machine or on a cluster of one master and any
number of workers. It plans who maps, who reduces and who sends when, so that
no limit of the network is exceeded, and predicts how long a job takes.
.
This package has the program, its man pages, and systemd units for master and
workers, which are not enabled by its installation.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libweir-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
# What weirConfig.cmake looks for; nothing in this package is linked already. The CMake files of libgrpc++-dev name
# protoc's plugins, which that package does not depend on: without protobuf-compiler-grpc nobody can find gRPC.
string(JOIN ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  libabsl-dev libxxhash-dev zlib1g-dev pkg-config libprotobuf-dev libgrpc++-dev protobuf-compiler-grpc libssl-dev
  libspdlog-dev liblz4-dev libzstd-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "weir, cmake, g++")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Headers, static libraries and CMake files for jobs that are compiled outside of
Weir's own source (weir_add_job), and for programs that reduce arrays with each
other (weir/reduce.h), with an example.")

include(CPack)
cpack_add_component_group(weir)
cpack_add_component_group(dev)
cpack_add_component(weir GROUP weir)
cpack_add_component(service GROUP weir)
cpack_add_component(dev GROUP dev)
cpack_add_component(dev_docs GROUP dev)
