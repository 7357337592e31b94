"""The command line: what a person types, sees and gets as an exit code.

Each command is a module of its own. They use what ``import runner`` gives to everybody, and nothing of the supervisor's
insides; the drill alone looks at the kernel besides, since it judges the supervisor. mlx is never imported here.
"""
