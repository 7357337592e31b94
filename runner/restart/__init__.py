"""Back on its feet: whether, when and how often a runner that failed is started again, and by what."""
