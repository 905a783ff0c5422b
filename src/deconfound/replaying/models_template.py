"""The settings file that `deconfound replay --init` writes: working baselines, and examples of everything else."""

TEMPLATE = """\
# The models of a replay: deconfound replay --contexts FILE --models models.toml --draws 3
# Every [models.NAME] becomes a model called NAME in the replay. Names in your log and experiment must be the same.

# An endpoint is a server with an interface like OpenAI's. Keys never stand in this file: key_env names the
# environment variable that has it. Leave key_env out for a server without a key.
[endpoints.local]
url = "http://127.0.0.1:8080/v1"
# key_env = "OPENAI_API_KEY"
# concurrency = 8          # calls at once; --concurrency is for endpoints without this
# total_timeout = 300      # seconds for one call; also connect_timeout and read_timeout
# attempts = 6             # of one call, if trying again can help

# [endpoints.anthropic]
# url = "https://api.anthropic.com/v1"
# api = "anthropic"
# key_env = "ANTHROPIC_API_KEY"

# A model of an endpoint. {context} in the prompt is where the context goes; without a prompt the model gets the
# context itself, or the exact messages where contexts are messages.
[models.summary]
endpoint = "local"
model = "name-at-the-endpoint"
system = "You summarize messages of customers in two sentences."
prompt = "Summarize:\\n\\n{context}"
temperature = 0.7
max_tokens = 400
# top_p = 0.9
# stop = ["END"]
# seed = 0                 # of the first draw; the next draws have the following numbers
# price_input = 0.25       # per million tokens, in any currency
# price_output = 1.25
# parameters = { frequency_penalty = 0.2 }   # anything else that is sent

# The same model with another prompt is another model.
[models.short]
endpoint = "local"
model = "name-at-the-endpoint"
prompt = "Summarize in one short sentence:\\n\\n{context}"
temperature = 0.7
max_tokens = 100

# Baselines take their output from the context and need no endpoint: lead and last (sentences), random-sentences
# (sentences, seed), first-characters (characters), copy.
[models.lead3]
baseline = "lead"
sentences = 3
"""
