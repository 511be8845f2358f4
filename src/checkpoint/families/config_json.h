// Numbers as the Hugging Face library writes them into config.json.
#pragma once

#include "base/json.h"
#include "model/parts/mixer.h"

namespace ghost {

// The shortest decimal that reads back as the same float: 1e-05, not 9.999999747378752e-06.
double ShortestDecimal(float value);

// R / M; whole in every released model.
OrderedJson ExpandOf(const MixerDims& dims);

}  // namespace ghost
