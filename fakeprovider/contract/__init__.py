"""The contract of an agent loop that stops: `check_stop_contract`."""

from fakeprovider.contract.agents import Limits, OfferedTool, Report
from fakeprovider.contract.checking import CannotRun, ContractBroken, Failure, check_stop_contract
from fakeprovider.contract.clauses import CONTRACT, ContractClause
from fakeprovider.contract.trial import Case

__all__ = [
    "CONTRACT",
    "CannotRun",
    "Case",
    "ContractBroken",
    "ContractClause",
    "Failure",
    "Limits",
    "OfferedTool",
    "Report",
    "check_stop_contract",
]
