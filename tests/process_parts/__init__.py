"""The parts below the supervisor, each with real processes or a real socket: spawn, death, output, channel, cgroup."""
