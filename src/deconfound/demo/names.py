"""Proper names used in the demo's texts: people and months."""

from __future__ import annotations

# fmt: off
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)
FIRST_NAMES = (
    "Ada", "Aisha", "Alan", "Amara", "Anna", "Ben", "Bruno", "Carla", "Chen", "Clara", "Daniel", "Dora", "Elena",
    "Emil", "Esther", "Fatima", "Felix", "Grace", "Hana", "Hugo", "Ines", "Ivan", "Jana", "Joel", "Karim", "Kate",
    "Leo", "Lena", "Luca", "Maria", "Marta", "Mei", "Nadia", "Nils", "Noor", "Omar", "Paul", "Petra", "Priya", "Rosa",
    "Ruth", "Sam", "Sara", "Sofia", "Tariq", "Theo", "Tomas", "Uma", "Vera", "Victor", "Wanda", "Yusuf", "Zoe",
)
SURNAMES = (
    "Abbott", "Ahmed", "Baker", "Banerjee", "Berg", "Blake", "Costa", "Cohen", "Diaz", "Doyle", "Eriksen", "Evans",
    "Farah", "Fischer", "Garcia", "Grant", "Haddad", "Hughes", "Ito", "Jensen", "Jones", "Kaya", "Khan", "Kowalski",
    "Larsen", "Lewis", "Lopez", "Marsh", "Mehta", "Moreau", "Murphy", "Nair", "Novak", "Okafor", "Olsen", "Park",
    "Patel", "Quinn", "Reid", "Rossi", "Santos", "Shah", "Silva", "Stone", "Tanaka", "Turner", "Vance", "Vogel",
    "Walsh", "Weber", "Wong", "Young", "Zhang",
)
# fmt: on
