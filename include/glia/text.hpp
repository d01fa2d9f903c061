#pragma once

// Tokenizers and the sampling of tokens, for language models.
#include "glia/text/byte_pair_tokenizer.hpp"
#include "glia/text/sample_token.hpp"
