"""The commands of `fakeprovider`; `cli` imports the one that is called."""
