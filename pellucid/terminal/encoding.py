"""What a terminal can show: where its encoding is not Unicode, plain characters stand for marks, blocks and lines."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.text import Text

PLAIN = str.maketrans(
    dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True))
    | dict(zip("→≠·…×−★✗✓≈↳⟨⟩", ">!.~x-*x+~><>", strict=True))
    | dict(zip("│├└─╭╰╌", "||`-+`-", strict=True))
    | {"∞": "inf"}
)


def printable(content: RenderableType, console: Console) -> RenderableType:
    """The content as this console can print it."""
    if (console.encoding or "").lower().startswith("utf"):
        return content
    with console.capture() as capture:
        console.print(content)
    plain = capture.get().rstrip("\n").translate(PLAIN)
    return Text.from_ansi(plain.encode(console.encoding, "replace").decode(console.encoding))
