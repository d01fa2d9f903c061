// Begins the code of one instruction set, which end.inl ends. It requests optimization, because g++
// 12 hardly vectorizes at -O2. GLIA_INDEPENDENT before a loop allows vectorization but does not
// demand it.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#define GLIA_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define GLIA_INDEPENDENT _Pragma("GCC ivdep")
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
