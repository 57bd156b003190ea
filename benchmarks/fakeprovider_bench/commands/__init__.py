"""The commands of `bench`, one file per scenario that has options of its own."""
