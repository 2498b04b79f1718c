# belay_unity(TARGET [ACROSS_FOLDERS]): with BELAY_UNITY, files of one folder are compiled together, a few at a time, so that what
# they all include is read and instantiated once. What it saves, and what it asks of the code: docs/adr/0010. ACROSS_FOLDERS: all
# files of the target count as those of one folder, for tests of many small rooms.
#
# All files that are compiled together are one file to the compiler: names in their anonymous namespaces must differ. Two
# that want the same name need not change: list one of them here, and it is compiled alone.
set(BELAY_ALONE
    actors/gateway/http_reader.cpp
    actors/node/config/keys.cpp
    protocol/filter/grammar.cpp
    protocol/wire/entry_codec.cpp
    protocol/wire/frame_codec.cpp
    protocol/wire/record_codec.cpp
    protocol/wire/registration_codec.cpp
    storage/snapshot_file.cpp
    tests/unit/protocol/http/kv/lock_headers_test.cpp
    tests/unit/protocol/state/fields_test.cpp
)
set(BELAY_UNITY_FILES 8) # more save little, and take more than 1 GB of memory

function(belay_unity target)
  if(NOT BELAY_UNITY)
    return()
  endif()
  cmake_parse_arguments(U "ACROSS_FOLDERS" "" "" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source ${sources})
    get_filename_component(source ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    if(path MATCHES "\\.cpp$" AND NOT path IN_LIST BELAY_ALONE)
      if(U_ACROSS_FOLDERS)
        set(folder ${target})
      else()
        get_filename_component(folder ${path} DIRECTORY)
      endif()
      list(APPEND folders ${folder})
      list(APPEND in_${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(LENGTH in_${folder} files)
    if(files EQUAL 1)
      continue()
    endif()
    # As many groups as needed, of about the same size.
    math(EXPR groups "(${files} + ${BELAY_UNITY_FILES} - 1) / ${BELAY_UNITY_FILES}")
    math(EXPR each "(${files} + ${groups} - 1) / ${groups}")
    string(REPLACE "/" "_" name ${folder})
    set(number 0)
    foreach(source ${in_${folder}})
      math(EXPR group "${number} / ${each}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
      math(EXPR number "${number} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes the files of a group for headers, and warns of classes in them that have members from anonymous namespaces.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()
