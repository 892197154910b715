"""The commands of ``python -m core``, by what they are about. Each module adds its own to the parser."""
