// Made by tests/golden/make_mlp_golden.py with torch 1.13.0a0 on the CPU: do not edit.
//
// Float32, one thread, deterministic algorithms, no oneDNN. Every initial parameter and input is an
// array in glia's layout (row-major: kernels (I, O) and HWIO, images NHWC) with element i =
// formula(i, offset). All steps see the one batch; sample i has the label i % 3; the loss is the
// mean softmax cross-entropy, taken before the step. Losses are of the ten steps, parameters are as
// they stand after the tenth.
//
// mlp_*:   batch 8 of 6 (offset 839); dense 6-5 relu, dense 5-4 tanh, dense 4-3.
//          Offsets: kernel_0 263, bias_0 211, kernel_1 757, bias_1 211, kernel_2 149, bias_2 113.
// conv_*:  batch 4 of 7x6x2 (offset 641); conv of 3 filters 3x3, stride 2, padding 1 on all sides,
// relu
//          (giving 4x3x3); max pool 2x2, stride 2, no padding (giving 2x1x3); flatten; dense 6-3.
//          Offsets: conv_kernel 103, conv_bias 491, dense_kernel 31, dense_bias 347.
// *_adam:  rate 1e-2, betas 0.9 and 0.999, epsilon 1e-7 added to sqrt(variance / (1 - 0.999^t)), no
// decay.
// *_sgd:   rate 0.1, momentum 0.9, Nesterov, no decay.
//
// The same in float64 differs by at most 1.5e-07 in any of these numbers, and no relu's input comes
// nearer to zero than 6.1e-04, nor two values of a pool's window nearer to each other: a float32
// library that adds in another order can match to about 1e-5.
#pragma once

#include <array>
#include <cstddef>

namespace glia_golden {

// In double, then rounded once.
constexpr float formula(std::size_t i, std::size_t offset) {
  return static_cast<float>(static_cast<double>((i * i * 61 + i * 7919 + offset) % 1000) / 1000.0 -
                            0.5);
}

inline constexpr std::array<float, 10> mlp_adam_losses{
    1.12659359f, 1.11626768f, 1.10719812f, 1.09929776f, 1.09199524f,
    1.08514631f, 1.07863343f, 1.07232928f, 1.06631613f, 1.06033659f};

inline constexpr std::array<float, 30> mlp_adam_kernel_0{
    -0.337717086f, -0.355097413f,  -0.256279022f,  0.153422892f,  0.516241014f,   -0.217716366f,
    0.522468984f,  0.0837107599f,  0.0920965225f,  0.0616294518f, -0.0477108844f, 0.350347281f,
    -0.526296258f, 0.024624303f,   -0.317187846f,  0.373714447f,  -0.0182523653f, -0.0863209441f,
    0.0613245815f, 0.300487459f,   -0.557715893f,  -0.137498274f, -0.596292078f,  0.234798625f,
    0.0454053991f, -0.0362844467f, -0.0247228295f, 0.146252036f,  0.325108856f,   -0.374932796f};

inline constexpr std::array<float, 5> mlp_adam_bias_0{-0.188281581f, -0.255290926f, -0.105708316f,
                                                      -1.87098049e-05f, 0.288697451f};

inline constexpr std::array<float, 20> mlp_adam_kernel_1{
    0.161600068f,  0.334319651f,  0.246956766f,  -0.532419086f, -0.192048222f,
    0.478474289f,  -0.128841817f, -0.421328664f, -0.586226821f, 0.569681764f,
    -0.548083663f, -0.352276802f, 0.100080058f,  -0.582777798f, 0.178243324f,
    -0.298243195f, -0.493959099f, -0.421672851f, -0.346368819f, -0.3433806f};

inline constexpr std::array<float, 4> mlp_adam_bias_1{-0.388365746f, -0.213798687f, -0.117881775f,
                                                      -0.0798607469f};

inline constexpr std::array<float, 12> mlp_adam_kernel_2{
    -0.437503815f, -0.469179213f,  -0.173645332f,   -0.144918546f, 0.279775172f,  -0.149194777f,
    0.284516662f,  -0.0259382054f, -0.00311881863f, -0.130134523f, -0.162216187f, 0.239855513f};

inline constexpr std::array<float, 3> mlp_adam_bias_2{-0.294243097f, -0.312069267f, -0.399076998f};

inline constexpr std::array<float, 10> mlp_sgd_losses{
    1.12659359f, 1.11644816f, 1.10472512f, 1.09343481f, 1.08394778f,
    1.07664406f, 1.07136559f, 1.06770444f, 1.06493247f, 1.06237769f};

inline constexpr std::array<float, 30> mlp_sgd_kernel_0{
    -0.24897787f,   -0.282607675f, -0.200990111f,  0.124498628f,    0.422574997f,  -0.126263916f,
    0.484987259f,   0.121301003f,  0.0317498595f,  -0.00218850817f, 0.0496336743f, 0.277720839f,
    -0.4804672f,    0.0212372895f, -0.393547446f,  0.278714925f,    0.0512494817f, -0.00629476272f,
    0.0675689206f,  0.259409606f,  -0.465115666f,  -0.0491079055f,  -0.567222774f, 0.188429505f,
    -0.0271190256f, -0.129667163f, -0.0960107446f, 0.0588310994f,   0.317679733f,  -0.292307019f};

inline constexpr std::array<float, 5> mlp_sgd_bias_0{-0.262904465f, -0.280683964f, 0.00562858721f,
                                                     -0.0109704379f, 0.332824945f};

inline constexpr std::array<float, 20> mlp_sgd_kernel_1{
    0.255842239f,  0.241581067f,   0.337656379f,  -0.437826455f, -0.0944603011f,
    0.392603397f,  -0.0382929221f, -0.322916716f, -0.49565208f,  0.503397167f,
    -0.463540584f, -0.259387702f,  0.0703803226f, -0.497273237f, 0.0907241553f,
    -0.235949859f, -0.424969256f,  -0.473284125f, -0.419414043f, -0.274439812f};

inline constexpr std::array<float, 4> mlp_sgd_bias_1{-0.327701896f, -0.176116794f, -0.114242814f,
                                                     -0.0715802014f};

inline constexpr std::array<float, 12> mlp_sgd_kernel_2{
    -0.387520313f, -0.478239477f,  -0.125240192f, -0.151103809f, 0.303383321f,   -0.127279416f,
    0.336885959f,  -0.0154090719f, 0.0135231102f, -0.134114534f, -0.0987823457f, 0.17189686f};

inline constexpr std::array<float, 3> mlp_sgd_bias_2{-0.227125421f, -0.193535998f, -0.678338587f};

inline constexpr std::array<float, 10> conv_adam_losses{
    1.07233655f,  1.04690278f,  1.02194452f,  0.997447968f, 0.973405778f,
    0.955338597f, 0.938847423f, 0.922277331f, 0.906168103f, 0.890355766f};

inline constexpr std::array<float, 54> conv_adam_conv_kernel{
    -0.313512683f,   -0.353582531f,  -0.416099072f,  -0.182339951f,  0.174705163f,   -0.176567882f,
    0.383925915f,    -0.0748941824f, -0.241481796f,  -0.0974388048f, -0.200451061f,  0.19317466f,
    0.479978263f,    -0.218934923f,  0.423186928f,   0.202838838f,   -0.0475968271f, -0.239586025f,
    0.000381022692f, 0.0135628898f,  0.286444575f,   -0.155264214f,  0.271062464f,   -0.0907327235f,
    -0.293226242f,   -0.215764061f,  -0.248728141f,  -0.0479481593f, 0.0837949365f,  -0.344692051f,
    0.168037549f,    -0.210732192f,  0.575259447f,   0.324766278f,   0.432514906f,   0.54713285f,
    -0.21477811f,    0.171997294f,   -0.486347318f,  0.141162723f,   -0.12182413f,   -0.0890163556f,
    -0.134032413f,   -0.186642334f,  0.0347033069f,  0.477446526f,   0.0510593578f,  -0.556575537f,
    0.359968573f,    0.0494475812f,  -0.0479832739f, 0.227410913f,   0.436196864f,   -0.440757215f};

inline constexpr std::array<float, 3> conv_adam_conv_bias{-0.0980242565f, -0.0999606177f,
                                                          0.167741984f};

inline constexpr std::array<float, 18> conv_adam_dense_kernel{
    -0.372062266f, -0.586571097f, -0.483395278f, -0.0663718209f, 0.0887485966f,  -0.447881728f,
    0.341427445f,  -0.146072283f, -0.311662048f, -0.358477175f,  -0.0811313763f, 0.121800333f,
    0.441675663f,  -0.285114765f, 0.258786738f,  0.140864536f,   -0.248306528f,  -0.12374416f};

inline constexpr std::array<float, 3> conv_adam_dense_bias{-0.0604985692f, -0.248235941f,
                                                           -0.166941866f};

}  // namespace glia_golden
