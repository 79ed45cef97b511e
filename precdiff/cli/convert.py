"""`precdiff convert`: one kind of dump as another."""

from __future__ import annotations

import click

from precdiff.cli.options import subcommand
from precdiff.cli.terminal import Terminal


@subcommand
@click.argument("source")
@click.option("-o", "--output", required=True, metavar="DEST", help="Where to write; its ending says what.")
@click.option("--force", is_flag=True, help="Replace DEST where it exists.")
def command(terminal: Terminal, source: str, output: str, force: bool) -> int:
    """Write a dump as another kind, bit for bit.

    SOURCE is a dump of any kind of `precdiff list readers`. DEST ends in .h5 (keeps everything), .npz, .npy,
    .safetensors or .bin; without an ending it is a folder of arrays. It appears whole or not at all.
    """
    from precdiff.dump import convert

    with terminal.waiting(f"reading {source}"):
        done = convert(source, output, force=force)
    terminal.say(f"{output}: {done.tensors} tensors, {done.reader} as {done.kind}")
    for left in done.left_out:
        terminal.say(f"  left out: {left}")
    about = {"source": source, "output": output, "reader": done.reader, "kind": done.kind, "tensors": done.tensors}
    terminal.document({"schema": "precdiff.convert/1", **about, "left_out": list(done.left_out)})
    return 0
