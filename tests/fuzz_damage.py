"""Ways to damage a file: mostly in one place, so that a reader comes far before it notices, if it notices at all."""

import io
import re
import zipfile

import numpy as np

EXTREMES = [
    b"-1",
    b"0",
    b"1e999",
    b"nan",
    b"99999999999999999999",
    b"1e-320",
    b"",
    b"\xff\xfe",
    b"\x00",
    b"None",
    b"{}",
    b"Infinity",
    b"0.5",
    b"[]",
    b"1" + b"0" * 400,
]
EXTREMES += ['"\N{SNOWMAN}"'.encode(), b'"' * 50, b"[" * 5000, b"," * 200, b"\r", b"\n\n", b"2147483648", b"-0.0"]


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Change one place, seldom more: a bit, bytes, a piece cut or repeated, a digit, a word."""
    for _ in range(int(rng.geometric(0.7))):
        size = len(content)
        start, length = int(rng.integers(size + 1)), int(rng.choice([1, 1, 2, 4, 30]))
        end = min(size, start + length)
        kind = rng.choice([0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 7, 8, 8])
        if kind == 0 and size:
            start = min(start, size - 1)
            content = content[:start] + bytes([content[start] ^ (1 << int(rng.integers(8)))]) + content[start + 1 :]
        elif kind == 1:
            content = content[:start] + rng.bytes(end - start) + content[end:]
        elif kind == 2:
            content = content[:start] + content[end:]
        elif kind == 3:
            content = content[:end] + content[start:end] * int(rng.integers(1, 30)) + content[end:]
        elif kind == 4:
            content = content[:start]
        elif kind == 5:
            content = content[:start] + EXTREMES[rng.integers(len(EXTREMES))] + content[start:]
        elif kind == 8:  # which a reader has no reason to refuse: it must come out as it went in
            digits = list(re.finditer(rb"[0-9]", content))
            if digits:
                place = digits[rng.integers(len(digits))].start()
                content = content[:place] + str(rng.integers(10)).encode() + content[place + 1 :]
        else:
            words = list(re.finditer(rb"[\w.+-]+", content))
            if words:
                word = words[rng.integers(len(words))]
                other = words[rng.integers(len(words))].group() if kind == 6 else EXTREMES[rng.integers(len(EXTREMES))]
                content = content[: word.start()] + other + content[word.end() :]
    return content


def damaged_archive(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage one member of a zip file and pack it again with right checksums; one time in three, the file itself."""
    if rng.random() < 1 / 3:
        return damaged(content, rng)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = sorted(members)[rng.integers(len(members))]
    if rng.random() < 0.5:  # the header of an array decides its type and shape
        cut = members[chosen].find(b"\n") + 1
        members[chosen] = damaged(members[chosen][:cut], rng) + members[chosen][cut:]
    else:
        members[chosen] = damaged(members[chosen], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return stream.getvalue()
