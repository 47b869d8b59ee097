"""One table out of incomplete views."""

from absentia.methods.representation._embedding import ViewEmbedding, embed
from absentia.methods.representation._mic import MIC
