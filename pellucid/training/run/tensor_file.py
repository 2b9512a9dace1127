"""Files of tensors with a checksum of the whole file, so that a flipped bit is noticed when it is read.

The file is one of safetensors. The checksum is in its metadata: it is the SHA-256 of the file with zeros in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from mmap import ACCESS_READ, mmap
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pellucid.errors import UserError
from pellucid.storage import write_file

ZEROS = b"0" * 64
CHECKSUM = re.compile(rb'"sha256":"(.{64})"', re.DOTALL)  # also a damaged one
LENGTH = 8  # bytes at the beginning, which say how long the header is


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str], remedy: str) -> None:
    """Write a file whole, in place of an older one."""
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    content = bytearray(save(plain, {**metadata, "sha256": ZEROS.decode()}))
    found = CHECKSUM.search(content)
    assert found
    content[found.start(1) : found.end(1)] = sha256(content).hexdigest().encode()
    write_file(path, bytes(content), remedy)


def read_tensors(path: Path, remedy: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a file; a file without a checksum, of an older version, is not checked."""
    try:
        _verify(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", str(path), remedy) from None


def _verify(path: Path) -> None:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        header = int.from_bytes(content[:LENGTH], "little")
        found = CHECKSUM.search(content, LENGTH, min(LENGTH + header, len(content)))
        if not found:
            return
        whole = memoryview(content)
        digest = sha256(whole[: found.start(1)])
        digest.update(ZEROS)
        digest.update(whole[found.end(1) :])
        whole.release()
        if digest.hexdigest().encode() != found[1]:
            raise ValueError("its content is not that of its checksum")
