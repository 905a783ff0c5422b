"""Pictures of a benchmark's scores, drawn from the same contents as its tables."""

from deconfound_bench.pictures.curves import dr_picture, regret_picture
from deconfound_bench.pictures.values import values_picture
from deconfound_bench.pictures.winners import winner_picture
from deconfound_bench.pictures.write import write_all, write_pictures

__all__ = ["dr_picture", "regret_picture", "values_picture", "winner_picture", "write_all", "write_pictures"]
