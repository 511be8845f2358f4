// The words recall documents are made of (recall.h). Common ones, so that a small vocabulary has most of them
// as one token: what is measured is memory, not spelling. No word is in two lists, except that names and
// streets may share one.
#pragma once

#include <span>
#include <string_view>

namespace ghost {

using WordList = std::span<const std::string_view>;

extern const WordList kKeyWords;      // things and places that a list is looked up by
extern const WordList kValueWords;    // what stands beside them
extern const WordList kPeople;        // first names, and titles with family names
extern const WordList kStreets;       // "Elm", of Elm Street
extern const WordList kTowns;         // towns and countries
extern const WordList kTrades;        // what takes "a"
extern const WordList kFillerNouns;   // who does something in between
extern const WordList kFillerKinds;   // adjectives
extern const WordList kFillerDeeds;   // verbs, past tense
extern const WordList kFillerPlaces;  // where, as a phrase

}  // namespace ghost
