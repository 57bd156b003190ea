"""The commands of `fakeprovider` beside `serve` and `list`, one in each module."""

from fakeprovider.commands.check import check, schema
from fakeprovider.commands.exec import exec_command
from fakeprovider.commands.faults import faults
from fakeprovider.commands.record import record

__all__ = ["check", "exec_command", "faults", "record", "schema"]
