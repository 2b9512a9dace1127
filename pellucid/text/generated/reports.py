"""Weather reports of several sentences to their summary in one line, and back.

The summary follows from the report's facts alone, so it can be learned; how a report words them, in which order and
among which idle remarks, is drawn, so it must be read.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from pellucid.text.generated.splits import Split, split_of
from pellucid.text.pair import Pair

# fmt: off
CITIES = (
    "Oslo", "Porto", "Ghent", "Turin", "Lyon", "Cork", "Bergen", "Malaga", "Graz", "Basel", "Leeds", "Tampere",
    "Krakow", "Aarhus", "Split", "Varna", "Tartu", "Bilbao", "Utrecht", "Dresden",
)
# fmt: on
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
FRESH, STRONG = 20, 50  # km/h, where the summary's word changes
COLD = 4  # degrees at dawn, up to which it may snow

# What the summary calls each sky, and how a report may say it of a part of the day.
SKIES = {
    "sun": ("{part} is sunny", "the sun shines {during}", "not a cloud is in sight {during}"),
    "clouds": ("{part} is overcast", "grey clouds cover the sky {during}", "the sun stays hidden {during}"),
    "rain": ("{part} is wet", "rain falls {during}", "an umbrella is needed {during}"),
    "snow": ("{part} is white", "snow falls {during}", "flakes fill the air {during}"),
    "fog": ("{part} is foggy", "fog lies over the streets {during}", "one hardly sees the next house {during}"),
    "thunder": ("{part} is stormy", "thunder rolls {during}", "lightning crosses the sky {during}"),
}
OPENINGS = (
    "Here is the weather for {city} on {day}.",
    "This is what {day} brings to {city}.",
    "{city} can expect the following on {day}.",
    "The forecast for {day} in {city} is out.",
)
LOWS = (
    "Temperatures start at {low} degrees.",
    "At dawn the thermometer reads {low} degrees.",
    "The day begins at {low} degrees.",
)
HIGHS = (
    "They climb to {high} degrees by two o'clock.",
    "The warmest hour has {high} degrees.",
    "At best it gets {high} degrees warm.",
)
BREEZES = (
    "The wind blows from the {wind} at {speed} km/h.",
    "From the {wind} comes a wind of {speed} km/h.",
    "At {speed} km/h the air moves in from the {wind}.",
)
REMARKS = (
    "The next report follows in the evening.",
    "Farmers have been waiting for this.",
    "Drivers should take their time.",
    "Last year it was quite different.",
    "The market opens as usual.",
    "Our station has measured since 1911.",
)


class Weather(NamedTuple):
    """The facts of a day."""

    city: str
    day: str
    morning: str
    afternoon: str
    low: int
    high: int
    wind: str
    speed: int

    def summary(self) -> str:
        sky = self.morning if self.morning == self.afternoon else f"{self.morning}, then {self.afternoon}"
        strength = "strong" if self.speed >= STRONG else "fresh" if self.speed >= FRESH else "light"
        warmth, wind = f"{self.low} to {self.high} degrees", f"{strength} wind from the {self.wind}"
        return f"{self.city}, {self.day}: {sky}, {warmth}, {wind}."


def draw_weather(draw: random.Random) -> Weather:
    low = draw.randint(0, 20)
    skies = [sky for sky in SKIES if sky != "snow" or low <= COLD]
    return Weather(
        city=draw.choice(CITIES),
        day=draw.choice(DAYS),
        morning=draw.choice(skies),
        afternoon=draw.choice(skies),
        low=low,
        high=low + draw.randint(3, 12),
        wind=draw.choice(WINDS),
        speed=5 * draw.randint(1, 16),
    )


def draw_report(weather: Weather, draw: random.Random) -> str:
    """The opening, then sky, temperatures, wind and up to two idle remarks in any order."""
    sky = f"{_sky(weather.morning, 'morning', draw)}, and {_sky(weather.afternoon, 'afternoon', draw)}."
    warmth = f"{draw.choice(LOWS).format(low=weather.low)} {draw.choice(HIGHS).format(high=weather.high)}"
    breeze = draw.choice(BREEZES).format(wind=weather.wind, speed=weather.speed)
    rest = [sky[0].upper() + sky[1:], warmth, breeze, *draw.sample(REMARKS, draw.randint(0, 2))]
    draw.shuffle(rest)
    opening = draw.choice(OPENINGS).format(city=weather.city, day=weather.day)
    return " ".join([opening, *rest])


def _sky(kind: str, part: str, draw: random.Random) -> str:
    return draw.choice(SKIES[kind]).format(part=f"the {part}", during=f"in the {part}")


def pairs(count: int, seed: int, split: Split = "train") -> list[Pair]:
    """So many pairs of one split, by turns report -> summary and summary -> report.

    The kinds of text stand where languages do, so that one model serves both directions. A summary of one split occurs
    in no other.
    """
    draw = random.Random(f"reports {split} {seed}")
    made: list[Pair] = []
    while len(made) < count:
        weather = draw_weather(draw)
        if split_of(weather.summary()) == split:
            place = f"reports:{split}:{len(made) + 1}"
            pair = Pair(draw_report(weather, draw), weather.summary(), "report", "summary", place)
            made.append(pair.reversed() if len(made) % 2 else pair)
    return made
