"""The subjects of the news, one file each."""

from __future__ import annotations

from deconfound_bench.articles.topics.business import BUSINESS
from deconfound_bench.articles.topics.council import COUNCIL
from deconfound_bench.articles.topics.courts import COURTS
from deconfound_bench.articles.topics.crime import CRIME
from deconfound_bench.articles.topics.culture import CULTURE
from deconfound_bench.articles.topics.cycling import CYCLING
from deconfound_bench.articles.topics.education import EDUCATION
from deconfound_bench.articles.topics.energy import ENERGY
from deconfound_bench.articles.topics.farming import FARMING
from deconfound_bench.articles.topics.football import FOOTBALL
from deconfound_bench.articles.topics.health import HEALTH
from deconfound_bench.articles.topics.politics import POLITICS
from deconfound_bench.articles.topics.science import SCIENCE
from deconfound_bench.articles.topics.technology import TECHNOLOGY
from deconfound_bench.articles.topics.tennis import TENNIS
from deconfound_bench.articles.topics.transport import TRANSPORT
from deconfound_bench.articles.topics.weather import WEATHER
from deconfound_bench.articles.topics.wildlife import WILDLIFE

TOPICS = (
    BUSINESS,
    COUNCIL,
    COURTS,
    CRIME,
    CULTURE,
    CYCLING,
    EDUCATION,
    ENERGY,
    FARMING,
    FOOTBALL,
    HEALTH,
    POLITICS,
    SCIENCE,
    TECHNOLOGY,
    TENNIS,
    TRANSPORT,
    WEATHER,
    WILDLIFE,
)
