"""The subjects of the news, one file each."""

from __future__ import annotations

from deconfound.bench.articles.topics.business import BUSINESS
from deconfound.bench.articles.topics.council import COUNCIL
from deconfound.bench.articles.topics.courts import COURTS
from deconfound.bench.articles.topics.crime import CRIME
from deconfound.bench.articles.topics.culture import CULTURE
from deconfound.bench.articles.topics.cycling import CYCLING
from deconfound.bench.articles.topics.education import EDUCATION
from deconfound.bench.articles.topics.energy import ENERGY
from deconfound.bench.articles.topics.farming import FARMING
from deconfound.bench.articles.topics.football import FOOTBALL
from deconfound.bench.articles.topics.health import HEALTH
from deconfound.bench.articles.topics.politics import POLITICS
from deconfound.bench.articles.topics.science import SCIENCE
from deconfound.bench.articles.topics.technology import TECHNOLOGY
from deconfound.bench.articles.topics.tennis import TENNIS
from deconfound.bench.articles.topics.transport import TRANSPORT
from deconfound.bench.articles.topics.weather import WEATHER
from deconfound.bench.articles.topics.wildlife import WILDLIFE

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
