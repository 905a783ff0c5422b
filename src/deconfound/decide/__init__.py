"""From values and rewards to decisions: calibration, recommendation, routing."""
