from footplate.sdk.tuning.policy import (
    BanditPolicy,
    EarlyTerminationPolicy,
    MedianStoppingPolicy,
    NoTerminationPolicy,
    TruncationSelectionPolicy,
)

__all__ = [
    "BanditPolicy",
    "EarlyTerminationPolicy",
    "MedianStoppingPolicy",
    "NoTerminationPolicy",
    "TruncationSelectionPolicy",
]
