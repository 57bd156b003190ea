"""The commands of `bench`, a file each; its first line is the line in `bench --help`."""
