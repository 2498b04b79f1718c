# belay_unity(TARGET): with BELAY_UNITY, many files are compiled as one, so that common includes are
# read and instantiated once. docs/internals/adr/0010 has the savings and the demands on the code. A group has
# whole folders, in order, so that a new file seldom moves others into another group; a folder that
# is too large for a group is split.
#
# All files that are compiled together are one file to the compiler: names in their anonymous
# namespaces must differ. If two files need the same name, list one of them here to compile it
# alone.
set(BELAY_ALONE
    actors/gateway/http_reader.cpp
    actors/node/config/keys.cpp
    protocol/filter/grammar.cpp
    protocol/wire/entry_codec.cpp
    protocol/wire/frame_codec.cpp
    protocol/wire/record_codec.cpp
    protocol/wire/registration_codec.cpp
    storage/checkpoint/snapshot_file.cpp
    tests/unit/protocol/http/kv/lock_headers_test.cpp
    tests/unit/protocol/state/fields_test.cpp
)
# Folders whose files use names with other meanings than the rest of their target: a group of their
# own.
set(BELAY_APART)
set(BELAY_UNITY_FILES 30) # more saves little, and takes more than 3 GB of memory

function(belay_unity target)
  if(NOT BELAY_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders)
  set(all 0)
  foreach(source ${sources})
    get_filename_component(source ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    if(path MATCHES "\\.cpp$" AND NOT path IN_LIST BELAY_ALONE)
      get_filename_component(folder ${path} DIRECTORY)
      list(APPEND folders ${folder})
      list(APPEND in_${folder} ${source})
      math(EXPR all "${all} + 1")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  # The size of a group if all are equal.
  math(EXPR wanted "(${all} + ${BELAY_UNITY_FILES} - 1) / ${BELAY_UNITY_FILES}")
  math(EXPR wanted "(${all} + ${wanted} - 1) / ${wanted}")
  set(group 0)
  set(filled 0)
  foreach(folder ${folders})
    list(LENGTH in_${folder} files)
    if(folder IN_LIST BELAY_APART)
      set_source_files_properties(${in_${folder}} PROPERTIES UNITY_GROUP ${target}_${folder})
      continue()
    endif()
    math(EXPR parts "(${files} + ${wanted} - 1) / ${wanted}")
    math(EXPR each "(${files} + ${parts} - 1) / ${parts}")
    set(at 0)
    while(at LESS files)
      list(SUBLIST in_${folder} ${at} ${each} part)
      list(LENGTH part size)
      math(EXPR at "${at} + ${size}")
      math(EXPR would_be "${filled} + ${size}")
      math(EXPR too_many "${would_be} - ${wanted}")
      math(EXPR too_few "${wanted} - ${filled}")
      if(filled GREATER 0 AND (would_be GREATER BELAY_UNITY_FILES OR too_many GREATER too_few))
        math(EXPR group "${group} + 1")
        set(filled 0)
      endif()
      math(EXPR filled "${filled} + ${size}")
      set_source_files_properties(${part} PROPERTIES UNITY_GROUP ${target}_${group})
    endwhile()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ takes the files of a group for headers, and warns of classes with members from anonymous
  # namespaces.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()
