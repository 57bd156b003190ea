"""A tool that takes three seconds: what a cancellation reaches, what a person sees meanwhile."""

from scenarios.scenario import Scenario

SLOW = Scenario(
    name="slow",
    script="slow",
    about="scans an archive for three seconds, with progress every half second",
    expect="a cancellation ends the tool at once and the run is resumable",
    task="Are there any errors in the archive?",
)
