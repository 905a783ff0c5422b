"""Rubrics that come with the package, in the format of a rubric file: `--print-rubric` prints them to start from."""

from __future__ import annotations

SUMMARIZATION = '''\
# A rubric: what every judge is asked about every output. Edit it and pass the file: deconfound judge --rubric FILE
name = "summarization"

# How the two texts are called in the prompt.
context = "article"
output = "summary"

instruction = """
Score how good the summary is as a summary of the article. Judge by the article alone: what you know from elsewhere
neither supports nor contradicts the summary. Score every criterion by itself. If the summary lies between two
descriptions, choose the nearer one."""

# A scale goes from the worst to the best score; anchors say what scores mean. weight is the share in the combined
# score (--as outcome); without it, 1 for a scale and 0 for a count.
[[criteria]]
name = "faithfulness"
question = "Does the article support everything that the summary states?"
scale = [0, 5]
[criteria.anchors]
0 = "Most of it is invented, or contradicts the article."
1 = "A large part is invented or contradicts the article."
2 = "An invented statement changes something important: who acted, what they did, the outcome or an amount."
3 = "Several statements have little or no support, but the story is still recognizable."
4 = "A small detail is unsupported; the main facts are correct."
5 = "Nothing is invented: every important statement can be traced to the article."

[[criteria]]
name = "coverage"
question = """
Are the main points included: the news itself, who is involved, what happened, the outcome and its conditions?"""
scale = [0, 5]
[criteria.anchors]
0 = "It is about something else, or includes hardly any main point."
1 = "It mentions the subject but omits nearly everything the article is about."
2 = "It covers one part of the story and omits the rest."
3 = "It includes some of the main points; more than one is missing."
4 = "At most one main point is missing."
5 = "No main point is missing; only side details are."

[[criteria]]
name = "clarity"
question = "Is it easy to read: correct grammar, a logical order, and clear who or what is meant?"
scale = [0, 5]
[criteria.anchors]
0 = "It cannot be understood."
1 = "Most of it is incoherent."
2 = "Faulty grammar or poor order repeatedly gets in the way."
3 = "It takes effort: clumsy or repeated wording, or unclear references."
4 = "It reads well apart from a clumsy phrase or one unclear reference."
5 = "It reads smoothly, is well ordered, and is always clear about who or what is meant."

[[criteria]]
name = "conciseness"
question = """
Is the length right for the content? Padding, repetition and side issues lower the score, and so does brevity that omits
needed content."""
scale = [0, 5]
[criteria.anchors]
0 = "Its length is absurd, or it repeats itself throughout; it is not usable as a summary."
1 = "It is far too long, or only a fragment."
2 = "It is clearly too long or too short: much is redundant, or it breaks off."
3 = "Noticeable repetition or an unsuitable length; still usable."
4 = "Slightly repetitive, or slightly too long or too short."
5 = "Every sentence is needed, and nothing is repeated."

# A count goes from 0 to the most that is credible; a larger answer counts as none.
[[criteria]]
name = "unsupported_claims"
question = """
How many claims of the summary does the article neither state nor imply: persons, places, figures, events, causes or
quotations that it does not mention, and claims that it contradicts? Count a repeated claim once."""
count = 20
'''
"""The rubric of the paper, in words of our own; docs/summary-rubric.md has the same anchors for persons."""

BUILTIN = {"summarization": SUMMARIZATION}
