"""Files packed as archives pack them."""

import io
import zipfile


def packed(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return path


def compressed(data, widest=16, clear_at=None, clearing=True):
    """As Unix compress packs: groups of eight codes, filled up whenever their width changes."""
    out, group, width = io.BytesIO(), [], 9
    out.write(b"\x1f\x9d" + bytes([widest | (0x80 if clearing else 0)]))

    def flush(full):
        codes = group + [0] * (-len(group) % 8 if full else 0)
        bits = sum(code << (k * width) for k, code in enumerate(codes))
        out.write(bits.to_bytes(-(-len(codes) * width // 8), "little"))
        group.clear()

    first = 257 if clearing else 256
    table, free = {bytes([k]): k for k in range(256)}, first

    def emit(code):
        nonlocal width
        group.append(code)
        if len(group) == 8:
            flush(False)
        if free == 1 << width and width < widest:
            flush(bool(group))
            width += 1

    word, emitted = b"", 0
    for k in range(len(data)):
        letter = data[k : k + 1]
        if word + letter in table:
            word += letter
            continue
        emit(table[word])
        emitted += 1
        if free < 1 << widest:
            table[word + letter] = free
            free += 1
        word = letter
        if clear_at and emitted == clear_at:
            group.append(256)
            flush(True)
            table, free, width = {bytes([k]): k for k in range(256)}, first, 9
    if word:
        emit(table[word])
    flush(False)
    return out.getvalue()
