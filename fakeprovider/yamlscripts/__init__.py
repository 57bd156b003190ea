"""Scripts written in YAML."""

from fakeprovider.yamlscripts.compiling import FileScript
from fakeprovider.yamlscripts.files import BadScripts, check, load, read_script, stamps
from fakeprovider.yamlscripts.language import json_schema
from fakeprovider.yamlscripts.nodes import Problem
from fakeprovider.yamlscripts.program import YamlScript
from fakeprovider.yamlscripts.recorded import RecordedScript

__all__ = [
    "BadScripts",
    "FileScript",
    "Problem",
    "RecordedScript",
    "YamlScript",
    "check",
    "json_schema",
    "load",
    "read_script",
    "stamps",
]
