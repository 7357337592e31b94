"""A worker that does nothing but send: the other end of the channel for ``events.py``. Run as a program, with ``--fd``."""

import argparse
import os
import socket

from runner.channel.frames import FrameDecoder, encode
from runner.channel.messages import PROTOCOL, Beat, Bye, Hello, LoadModel, LoadStep, ModelLoaded, Stop, ToWorker

BATCH = 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    number = parser.parse_known_args()[0].fd
    end = socket.socket(fileno=number)
    count = int(os.environ["FIREHOSE_EVENTS"])
    end.sendall(encode(Hello(PROTOCOL, os.getpid())))
    commands: FrameDecoder[ToWorker] = FrameDecoder(ToWorker)
    batch = encode(Beat()) * BATCH
    while data := end.recv(65536):
        commands.feed(data)
        for command in commands:
            if isinstance(command, LoadModel):
                end.sendall(encode(LoadStep("weights", 1, 2)))
                for _ in range(count // BATCH):
                    end.sendall(batch)
                end.sendall(encode(ModelLoaded(512)))
            elif isinstance(command, Stop):
                end.sendall(encode(Bye()))
                return


if __name__ == "__main__":
    main()
