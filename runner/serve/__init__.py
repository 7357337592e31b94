"""``runner serve``: a runner behind OpenAI's API, on starlette and uvicorn.

``server.py`` owns what runs, ``app.py`` says which address answers with what, ``gate.py`` who is let in, ``bodies.py`` what may be
asked, ``answers.py`` and ``errors.py`` what is said. The runner's life is the supervisor's, and nothing here decides about it.
"""
