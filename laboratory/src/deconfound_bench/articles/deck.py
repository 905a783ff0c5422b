"""Which wording comes next: templates dealt without repetition, words drawn with an article's own preferences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deconfound.demo.text_sampling import TextSampler

# Of each list of words an article favours this many, the first of them most; the rest turn up now and then.
FAVOURITES = 11
PREFERENCE = 1.7
STRAY = 0.14
APART = 3  # draws before a word may come again


class Deck:
    """The lists of templates of one article, and what is left of them."""

    def __init__(self, dice: TextSampler, lists: Mapping[str, Sequence[str]]) -> None:
        self._dice = dice
        self._lists = lists
        self._left: dict[str, list[str]] = {}
        self._favourites: dict[str, list[str]] = {}
        self._recent: dict[str, list[str]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lists

    def deal(self, name: str) -> str:
        """Take a template that this article has not used, as long as there is one."""
        left = self._left.get(name)
        if not left:
            left = self._left[name] = list(self._lists[name])
        return left.pop(int(self._dice.roll() * len(left)))

    def spent(self, name: str) -> bool:
        """Whether every template of this list has been used."""
        return self._left.get(name) == []

    def favour(self, name: str) -> str:
        """Take a word, mostly one of those that this article has made its own."""
        recent = self._recent.setdefault(name, [])
        for _ in range(6):
            word = self._preferred(name)
            if word not in recent:
                break
        recent.append(word)
        del recent[:-APART]
        return word

    def _preferred(self, name: str) -> str:
        words = self._lists[name]
        if self._dice.chance(STRAY):
            return self._dice.pick(words)
        favourites = self._favourites.get(name)
        if favourites is None:
            favourites = self._favourites[name] = self._dice.sample(words, min(FAVOURITES, len(words)))
        return favourites[int(self._dice.roll() ** PREFERENCE * len(favourites))]
