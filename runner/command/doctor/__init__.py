"""``runner doctor``: can a runner run here, and what could this machine tell if it died?

Every check looks at the real thing (a child that imports mlx, a cgroup that is made, a descriptor that is opened) rather
than at versions that should do. Nothing is changed, and what was made is removed again.
"""
