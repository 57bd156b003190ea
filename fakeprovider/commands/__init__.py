"""The commands of `fakeprovider` beside `serve` and `list`, one in each module."""

from fakeprovider.commands.check import check
from fakeprovider.commands.exec import exec_command
from fakeprovider.commands.faults import faults
from fakeprovider.commands.record import record
from fakeprovider.commands.schema import schema

__all__ = ["check", "exec_command", "faults", "record", "schema"]
