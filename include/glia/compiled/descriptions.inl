// Descriptions of networks and trainings, which record graphs for any device.

#include "glia/compiled/layers.inl"
#include "glia/compiled/losses.inl"
#include "glia/compiled/recording.inl"
