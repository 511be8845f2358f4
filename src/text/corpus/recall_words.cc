#include "text/corpus/recall_words.h"

namespace ghost {
namespace {

constexpr std::string_view kKeyWordList[] = {
    "garden",  "river", "table",  "window", "door",    "horse",   "ship",    "house",  "church", "forest",
    "field",   "road",  "street", "city",   "village", "school",  "shore",   "island", "valley", "wall",
    "gate",    "room",  "hall",   "corner", "court",   "chamber", "kitchen", "camp",   "boat",   "carriage",
    "train",   "bank",  "office", "shop",   "farm",    "hill",    "wood",    "tree",   "rock",   "prison",
    "station", "path",  "mill",   "bed",    "chair",   "box",     "glass",   "cup",    "pocket", "coat",
    "hat",     "dress", "ring",   "watch",  "fire",    "picture", "book",    "paper",  "letter", "sword",
    "gun",     "bell",  "dog",    "bird"};

constexpr std::string_view kValueWordList[] = {
    "red",    "blue",   "green", "white", "black",  "brown", "grey",   "yellow",  "silver",  "gold",
    "iron",   "water",  "wine",  "bread", "tea",    "corn",  "rose",   "grass",   "snow",    "rain",
    "storm",  "cloud",  "sun",   "moon",  "star",   "light", "shadow", "night",   "morning", "summer",
    "winter", "spring", "music", "song",  "dream",  "story", "game",   "work",    "money",   "power",
    "peace",  "war",    "love",  "hope",  "fear",   "joy",   "pity",   "pride",   "truth",   "beauty",
    "health", "death",  "life",  "youth", "honour", "luck",  "faith",  "justice", "courage", "seven",
    "three",  "twenty", "four",  "ten"};

constexpr std::string_view kPeopleList[] = {
    "John",       "Mary",     "Tom",        "James",      "George",    "Henry",     "Robert",    "Alice",
    "Lucy",       "Margaret", "Peter",      "Fred",       "Richard",   "Ralph",     "Louis",     "Martin",
    "Sam",        "Bob",      "Jim",        "Joe",        "William",   "Charles",   "Jane",      "Anne",
    "Sarah",      "David",    "Arthur",     "Helen",      "Emma",      "Daniel",    "Mr. Brown", "Mrs. King",
    "Miss White", "Mr. West", "Mrs. Adams", "Mr. Harlan", "Miss Dale", "Mrs. Ward", "Mr. Cole",  "Miss Reed"};

constexpr std::string_view kStreetList[] = {"Elm",  "Oak",   "High",  "Mill",   "Church", "Park",
                                            "King", "Queen", "Main",  "Bridge", "Market", "River",
                                            "Hill", "South", "North", "West"};

constexpr std::string_view kTownList[] = {"London",  "Paris",  "York",   "Oxford", "Dover",  "Bristol",
                                          "Rome",    "Boston", "Berlin", "Vienna", "Venice", "Naples",
                                          "England", "France", "Italy",  "Spain",  "Russia", "India",
                                          "China",   "Greece", "Egypt",  "Wales"};

constexpr std::string_view kTradeList[] = {"doctor",  "soldier", "poet",    "priest", "judge",  "captain",
                                           "servant", "cook",    "guard",   "lawyer", "sailor", "farmer",
                                           "baker",   "teacher", "painter", "writer", "clerk",  "merchant",
                                           "nurse",   "tailor",  "hunter",  "singer", "banker", "miller"};

constexpr std::string_view kFillerNounList[] = {"man",    "woman",    "boy",    "girl",
                                                "child",  "stranger", "friend", "neighbour",
                                                "sister", "brother",  "master", "crowd"};

constexpr std::string_view kFillerKindList[] = {"old",  "young",   "tall",  "quiet", "little", "poor",
                                                "good", "strange", "happy", "sad",   "proud",  "kind"};

constexpr std::string_view kFillerDeedList[] = {"walked",  "looked",   "stood",  "sat",
                                                "waited",  "listened", "smiled", "turned",
                                                "laughed", "remained", "rested", "wondered"};

constexpr std::string_view kFillerPlaceList[] = {
    "for a long time",   "without a word",     "in the afternoon", "until it was dark", "and said nothing",
    "as if by chance",   "a little way off",   "with great care",  "once more",         "and then went away",
    "before the others", "under the open sky", "in the cold air",  "by the side of it", "and heard a sound",
    "all the same",      "for the first time", "near the end",     "in silence",        "and did not speak"};

}  // namespace

constinit const WordList kKeyWords = kKeyWordList;
constinit const WordList kValueWords = kValueWordList;
constinit const WordList kPeople = kPeopleList;
constinit const WordList kStreets = kStreetList;
constinit const WordList kTowns = kTownList;
constinit const WordList kTrades = kTradeList;
constinit const WordList kFillerNouns = kFillerNounList;
constinit const WordList kFillerKinds = kFillerKindList;
constinit const WordList kFillerDeeds = kFillerDeedList;
constinit const WordList kFillerPlaces = kFillerPlaceList;

}  // namespace ghost
