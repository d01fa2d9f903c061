#pragma once

// Child processes and what else only POSIX has; tests that need it skip elsewhere.
#if __has_include(<sys/wait.h>)
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#define GLIA_TEST_HAS_FORK 1
#else
#define GLIA_TEST_HAS_FORK 0
#endif
