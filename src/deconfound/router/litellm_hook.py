"""A policy as a callback of LiteLLM: of a group's deployments, those of the chosen model remain.

LiteLLM's router and its proxy ask every callback which healthy deployments of a group a request may use
(``CustomLogger.async_filter_deployments``). A group with one deployment per model, as `deconfound assign` writes it, is
then routed by the prompt. ``async_pre_routing_hook`` of the same class would fit by its name, but LiteLLM calls it only
for its own routers (1.106).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from deconfound.errors import UsageError
from deconfound.router.model_router import Router

Deployment = dict[str, Any]


def litellm_callback(
    router: Router,
    *,
    groups: Collection[str] | None = None,
    names: Mapping[str, str] | None = None,
    segment_key: str | None = None,
) -> Any:  # noqa: ANN401  (a CustomLogger; LiteLLM is not installed where types are checked)
    """An object for ``litellm.callbacks``, or for ``callbacks`` of the proxy's settings.

    ``groups`` are the names of model groups to route, by default all. ``names`` are LiteLLM's names of models where
    they are not those of the study, with or without a provider. ``segment_key`` is the key of the request's metadata
    that has the segment. If no deployment of the chosen model is healthy, the others remain: a request never fails
    because of the policy.
    """
    try:
        from litellm.integrations.custom_logger import CustomLogger
    except ImportError:
        raise UsageError("LiteLLM is not installed; install it with: pip install litellm") from None

    class PolicyCallback(CustomLogger):  # type: ignore[misc]
        async def async_filter_deployments(
            self,
            model: str,
            healthy_deployments: list[Deployment],
            messages: Sequence[Mapping[str, Any]] | None,
            request_kwargs: Mapping[str, Any] | None = None,
            parent_otel_span: object = None,  # noqa: ARG002
        ) -> list[Deployment]:
            """Called by LiteLLM for every request."""
            if messages is None or (groups is not None and model not in groups):
                return healthy_deployments
            chosen = router.choose(messages, _segment(request_kwargs, segment_key))
            return deployments_of(healthy_deployments, (names or {}).get(chosen, chosen))

    return PolicyCallback()


def deployments_of(deployments: list[Deployment], model: str) -> list[Deployment]:
    """The deployments of a model, named with or without provider; all if there is none."""
    own = [one for one in deployments if model in _model_names(one)]
    return own or deployments


def _model_names(deployment: Deployment) -> set[str]:
    """``openai/cedar-2`` is ``cedar-2`` too."""
    parts = str((deployment.get("litellm_params") or {}).get("model", "")).split("/")
    return {"/".join(parts[at:]) for at in range(len(parts))}


def _segment(request: Mapping[str, Any] | None, key: str | None) -> str | None:
    if key is None or request is None:
        return None
    for place in ("metadata", "litellm_metadata"):
        value = (request.get(place) or {}).get(key)
        if value is not None:
            return str(value)
    return None
