"""Pictures of a benchmark's scores, drawn from the same contents as its tables."""

from deconfound.bench.pictures.curves import dr_picture, regret_picture
from deconfound.bench.pictures.values import values_picture
from deconfound.bench.pictures.winners import winner_picture
from deconfound.bench.pictures.write import write_all, write_pictures

__all__ = ["dr_picture", "regret_picture", "values_picture", "winner_picture", "write_all", "write_pictures"]
