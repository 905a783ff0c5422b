"""From an evaluated study to a policy: one model, one per segment, or one per prompt, with its value out of fold."""

from deconfound.policy_learning.learn_policy import LearnedPolicy, PolicyKind, learn_policy, route

__all__ = ["LearnedPolicy", "PolicyKind", "learn_policy", "route"]
