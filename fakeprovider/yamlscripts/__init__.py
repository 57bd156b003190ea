"""Scripts written in YAML."""

from fakeprovider.yamlscripts.files import BadScripts, check, load, read_script, stamps
from fakeprovider.yamlscripts.language import json_schema
from fakeprovider.yamlscripts.nodes import Problem
from fakeprovider.yamlscripts.script import YamlScript

__all__ = [
    "BadScripts",
    "Problem",
    "YamlScript",
    "check",
    "json_schema",
    "load",
    "read_script",
    "stamps",
]
