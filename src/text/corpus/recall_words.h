// The words of recall documents (recall.h). They are common words, so that a small vocabulary has most of
// them as one token and the test measures memory, not spelling. No word is in two lists, except that names
// and streets may share one.
#pragma once

#include <span>
#include <string_view>

namespace ghost {

using WordList = std::span<const std::string_view>;

extern const WordList kKeyWords;      // things and places: the keys of a list
extern const WordList kValueWords;    // the values of a list
extern const WordList kPeople;        // first names, and titles with family names
extern const WordList kStreets;       // "Elm", of Elm Street
extern const WordList kTowns;         // towns and countries
extern const WordList kTrades;        // nouns that follow "a"
extern const WordList kFillerNouns;   // subjects of filler sentences
extern const WordList kFillerKinds;   // adjectives
extern const WordList kFillerDeeds;   // verbs, past tense
extern const WordList kFillerPlaces;  // phrases of place, time and manner

}  // namespace ghost
