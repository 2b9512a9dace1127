"""The functions that are recognised, each with what must hold of it and the slips that are known."""

from pellucid.worked.code.task import Task
from pellucid.worked.code.tasks.attention import ATTENTION, MASKED_ATTENTION
from pellucid.worked.code.tasks.cross_entropy import CROSS_ENTROPY
from pellucid.worked.code.tasks.layer_norm import LAYER_NORM
from pellucid.worked.code.tasks.multi_head import MULTI_HEAD_ATTENTION
from pellucid.worked.code.tasks.positions import POSITIONAL_ENCODING
from pellucid.worked.code.tasks.search import BEAM_SEARCH, GREEDY
from pellucid.worked.code.tasks.softmax import SOFTMAX

TASKS: list[Task] = [
    SOFTMAX,
    ATTENTION,
    MASKED_ATTENTION,
    LAYER_NORM,
    POSITIONAL_ENCODING,
    MULTI_HEAD_ATTENTION,
    CROSS_ENTROPY,
    GREEDY,
    BEAM_SEARCH,
]
