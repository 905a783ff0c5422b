"""A policy as a callback of LiteLLM: of a group's deployments, those of the chosen model remain.

LiteLLM's router and its proxy ask every callback which healthy deployments of a group a request may use
(``CustomLogger.async_filter_deployments``). A group with one deployment per model, as `deconfound assign` writes it, is
then routed by the prompt. ``async_pre_routing_hook`` of the same class would fit by its name, but LiteLLM calls it only
for its own routers (1.106).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from deconfound.errors import UsageError
from deconfound.formatting import join_names
from deconfound.router.model_router import Router

Deployment = dict[str, Any]
NO_DEPLOYMENT = (
    "The group %s has no healthy deployment of %s, which the policy chose; all others may be used. If LiteLLM has "
    "another name for it, pass names={MODEL: NAME}."
)
LOGGER = logging.getLogger("deconfound")


def litellm_callback(
    router: Router | str | os.PathLike[str],
    *,
    groups: Collection[str] | str | None = None,
    names: Mapping[str, str] | None = None,
    segment_key: str | None = None,
) -> Any:  # noqa: ANN401  (a CustomLogger; LiteLLM is not installed where types are checked)
    """An object for ``litellm.callbacks``, or for ``callbacks`` of the proxy's settings.

    ``router`` may be the path of a policy file. ``groups`` are the names of model groups to route, by default all.
    ``names`` are LiteLLM's names of models where they are not those of the study, with or without a provider.
    ``segment_key`` is the key of the request's metadata that has the segment, which a policy by segments needs. If no
    deployment of the chosen model is healthy, the others remain: a request never fails because of the policy. A warning
    is logged once per model.
    """
    policy = _checked_router(router, names or {}, segment_key)
    routed = {groups} if isinstance(groups, str) else groups
    missed: set[str] = set()
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
            if messages is None or (routed is not None and model not in routed):
                return healthy_deployments
            try:
                chosen = policy.choose(messages, _segment(request_kwargs, segment_key))
                name = (names or {}).get(chosen, chosen)
                own = _own_deployments(healthy_deployments, name)
            except Exception as error:
                LOGGER.warning(
                    "The policy could not read a request (%s); any model may answer it.", type(error).__name__
                )
                return healthy_deployments
            if name not in missed and not own:
                missed.add(name)
                LOGGER.warning(NO_DEPLOYMENT, model, name)
            return own or healthy_deployments

    return PolicyCallback()


def _checked_router(
    router: Router | str | os.PathLike[str], names: Mapping[str, str], segment_key: str | None
) -> Router:
    """The router, read if it is a path; arguments that could never have an effect raise."""
    if isinstance(router, str | os.PathLike):
        router = Router.load(router)
    if not isinstance(router, Router):
        raise UsageError(f"router is a Router or the path of a policy file, not {type(router).__name__}.")
    unknown = [name for name in names if name not in router.models]
    if unknown:
        models = join_names(router.models)
        raise UsageError(f"names: the policy has no model {join_names(unknown)}. Its models are {models}.")
    if router.policy.kind == "segments" and segment_key is None:
        raise UsageError("The policy is by segments: name the key of the request's metadata with segment_key.")
    return router


def _own_deployments(deployments: list[Deployment], model: str) -> list[Deployment]:
    """The deployments of a model, named with or without provider."""
    return [one for one in deployments if model in _model_names(one)]


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
