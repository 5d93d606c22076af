"""What a classifier remembers of the stream it was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..streams import Stream, Survey


def remember_stream(classifier: Any, stream: Stream, survey: Survey | None) -> None:
    """What a model needs to read other files as it read these."""
    forget_stream(classifier)
    classifier.encoder_ = stream.encoder
    classifier.target_ = getattr(stream, "target", None)
    if survey is not None:
        classifier.survey_ = survey
    if stream.encoder.named:
        classifier.feature_names_in_ = np.array(stream.feature_names, dtype=object)
    elif hasattr(classifier, "feature_names_in_"):
        del classifier.feature_names_in_


def forget_stream(classifier: Any) -> None:
    for name in ("encoder_", "target_", "survey_"):
        classifier.__dict__.pop(name, None)


def take_over(classifier: Any, fitted: Any) -> None:
    """Take over what a clone has learned, and leave the parameters as they are."""
    parameters = classifier.get_params(deep=False)
    learned = {name: value for name, value in vars(fitted).items() if name not in parameters}
    classifier.__dict__.update(learned)
