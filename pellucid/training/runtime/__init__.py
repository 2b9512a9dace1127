"""The machine that a training runs on: device and threads, process group, memory, signals."""
