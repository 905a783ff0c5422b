"""The invented articles look like news: in length, form, vocabulary and variety."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def sentences(text):
    return re.split(r"(?<=[.!?])\s+", text)


def test_lengths_are_those_of_news_and_skewed_to_the_right(corpus):
    lengths = np.array([len(text.split()) for text in corpus.texts])
    assert lengths.min() >= 60
    assert lengths.max() <= 900
    assert 280 <= np.median(lengths) <= 420
    assert lengths.mean() > np.median(lengths)


def test_text_consists_of_clean_paragraphs(corpus):
    """No combination of templates leaves braces, doubled punctuation, stray spaces or a wrong "a" or "an"."""
    unclean = re.compile(r"[{}|]|,[.,;:?!]|\.\.| [.,;:?!]|  |\s$|\b[Aa] (?!one|eu)[aeio]|\b[Aa]n [bcdfgjkp]|\bhero\b")
    for text in corpus.texts:
        for paragraph in text.split("\n\n"):
            assert not unclean.search(paragraph), paragraph
            assert re.search(r"[.!?][\"”]?$", paragraph), paragraph
            assert re.match(r"[\"“$£€]?[A-Z0-9$£€]", paragraph), paragraph


def test_quotation_marks_come_in_pairs(corpus):
    for text in corpus.texts:
        assert text.count('"') % 2 == 0
        assert text.count("“") == text.count("”")


def test_the_hard_cases_of_sentence_splitters_occur(corpus):
    all_text = "\n".join(corpus.texts)
    for case in (
        r"\bMr\. [A-Z]",
        r"\bDr\. [A-Z]",
        r"\bSt\. [A-Z]",
        r"\d\.\d",
        r"\bU\.S\.",
        r"a\.m\.",
        r"Ltd\.",
        r"\?[\"”]",
    ):
        assert re.search(case, all_text), case


def test_the_vocabulary_is_rich_and_follows_zipfs_law(corpus):
    counts = Counter(word for text in corpus.texts for word in words(text))
    ordered = np.array(sorted(counts.values(), reverse=True))
    ranks = np.arange(1, len(ordered) + 1)
    slope = np.polyfit(np.log(ranks[10:3000]), np.log(ordered[10:3000]), 1)[0]
    assert len(counts) > 6_000
    assert -1.3 < slope < -0.8


def test_every_topic_and_restatements_occur(corpus, topic_numbers, wordings):
    assert len(wordings.topics) >= 14
    assert np.bincount(topic_numbers, minlength=len(wordings.topics)).min() >= 15
    assert sum("In short," in text or "As reported above" in text for text in corpus.texts) > 5


def test_the_words_of_an_article_predict_its_topic(corpus, topic_numbers, wordings):
    """Nearest centroids, fitted on half the articles, classify the other half."""
    count = len(corpus.texts)
    vocabulary = {word: at for at, word in enumerate(sorted({w for text in corpus.texts for w in words(text)}))}
    counts = np.zeros((count, len(vocabulary)))
    for row, text in enumerate(corpus.texts):
        for word in words(text):
            counts[row, vocabulary[word]] += 1
    tf_idf = np.log1p(counts) * np.log(count / (counts > 0).sum(0))
    tf_idf /= np.linalg.norm(tf_idf, axis=1, keepdims=True)
    half = count // 2
    topics = range(len(wordings.topics))
    centroids = np.array([tf_idf[:half][topic_numbers[:half] == topic].mean(0) for topic in topics])
    predicted = (tf_idf[half:] @ centroids.T).argmax(1)
    assert (predicted == topic_numbers[half:]).mean() > 0.85


def test_articles_on_one_topic_share_few_sentences(corpus, topic_numbers, wordings):
    """Even without names and numbers, which always differ."""
    bare = [
        {re.sub(r"\W+", " ", re.sub(r"\b[A-Z]\S*|\d\S*", "", one)) for one in sentences(text)} for text in corpus.texts
    ]
    shared = []
    for topic in range(len(wordings.topics)):
        rows = np.flatnonzero(topic_numbers == topic)[:20]
        shared += [len(bare[a] & bare[b]) / min(len(bare[a]), len(bare[b])) for a in rows for b in rows if a < b]
    assert np.mean(shared) < 0.1
    assert np.quantile(shared, 0.99) < 0.4


def test_most_articles_name_a_person_or_place_at_least_three_times(corpus):
    tops = [Counter(re.findall(r"(?<=[a-z,] )[A-Z][a-z]{3,}", text)).most_common(1) for text in corpus.texts]
    assert np.mean([bool(top) and top[0][1] >= 3 for top in tops]) > 0.6


def test_an_article_rarely_repeats_a_sentence(corpus):
    long_sentences = [[one for one in sentences(text) if len(one.split()) > 4] for text in corpus.texts]
    assert np.mean([1 - len(set(one)) / len(one) for one in long_sentences]) < 0.01
