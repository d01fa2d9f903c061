// Ends the code that begin.inl begins.
#if defined(__clang__)
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif
#undef GLIA_INDEPENDENT
