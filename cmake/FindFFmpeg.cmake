# Finds the libraries of FFmpeg that read video, 5.0 or newer: FFmpeg::FFmpeg, FFmpeg_FOUND.
set(FFmpeg_parts avformat avcodec swscale avutil)
find_path(FFmpeg_INCLUDE_DIR libavformat/avformat.h PATH_SUFFIXES ffmpeg)
set(FFmpeg_variables FFmpeg_INCLUDE_DIR)
foreach(part IN LISTS FFmpeg_parts)
  find_library(FFmpeg_${part}_LIBRARY ${part})
  list(APPEND FFmpeg_variables FFmpeg_${part}_LIBRARY)
endforeach()
mark_as_advanced(${FFmpeg_variables})

# FFmpeg's own number is in no header; 5.0 came with libavcodec 59.
unset(FFmpeg_avcodec_VERSION)
foreach(header IN ITEMS version_major version)
  set(header "${FFmpeg_INCLUDE_DIR}/libavcodec/${header}.h")
  if(NOT FFmpeg_avcodec_VERSION AND EXISTS "${header}")
    file(STRINGS "${header}" line REGEX "define LIBAVCODEC_VERSION_MAJOR +[0-9]+")
    string(REGEX MATCH "[0-9]+" FFmpeg_avcodec_VERSION "${line}")
  endif()
endforeach()
if(FFmpeg_avcodec_VERSION GREATER_EQUAL 59)
  set(FFmpeg_RECENT TRUE)
else()
  set(FFmpeg_RECENT FALSE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFmpeg REQUIRED_VARS ${FFmpeg_variables} FFmpeg_RECENT)

if(FFmpeg_FOUND AND NOT TARGET FFmpeg::FFmpeg)
  add_library(FFmpeg::FFmpeg INTERFACE IMPORTED)
  set_target_properties(FFmpeg::FFmpeg PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                  "${FFmpeg_INCLUDE_DIR}")
  foreach(part IN LISTS FFmpeg_parts)
    set_property(TARGET FFmpeg::FFmpeg APPEND PROPERTY INTERFACE_LINK_LIBRARIES
                                                       "${FFmpeg_${part}_LIBRARY}")
  endforeach()
endif()
