"""A library is silent until it is asked to speak: importing this turns our log off, once.

Everything that logs is imported after it; the command imports it before it turns the log on.
"""

from loguru import logger

logger.disable("runner")
