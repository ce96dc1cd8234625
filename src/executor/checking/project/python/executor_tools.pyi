# Takes the place of the declarations, which the server gets as an open document: it finds only modules that exist.
from typing import Any

tools: Any
