"""The model and batch of train_bench, as the options of its peers."""

import argparse


def parser(description, schemes, scheme):
    """Of all but what belongs to one system."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--scheme", choices=schemes, default=scheme)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--inner", type=int, default=1024)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=10000)
    parser.add_argument("--dropout", type=float, default=0.3)
    parser.add_argument("--attention-dropout", type=float, default=0.1)
    parser.add_argument("--activation-dropout", type=float, default=0.1)
    parser.add_argument("--sentences", type=int, default=170)
    parser.add_argument("--length", type=int, default=24)
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return parser
