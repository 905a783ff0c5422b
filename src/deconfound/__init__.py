"""Which language model is really better, from a confounded log, a small experiment and a replay."""
