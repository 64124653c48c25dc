"""zstd frames, by the library that weir itself stands on (libzstd1): Python 3.11 has no module for them."""
import ctypes
import ctypes.util

_LIBRARY = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
_SIZE = ctypes.c_size_t


class _Buffer(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("size", _SIZE), ("pos", _SIZE)]


for _name in ("ZSTD_createCCtx", "ZSTD_compressBound", "ZSTD_compressStream2", "ZSTD_CCtx_setParameter", "ZSTD_freeCCtx"):
    getattr(_LIBRARY, _name).restype = ctypes.c_void_p if _name == "ZSTD_createCCtx" else _SIZE
# zstd.h: ZSTD_cParameter, ZSTD_EndDirective.
_LEVEL, _WINDOW_LOG, _CONTENT_SIZE, _CHECKSUM = 100, 101, 200, 201
_CONTINUE, _END = 0, 2


def compress(data, level=3, checksum=True, content_size=True, window_log=0):
    """One frame. Without its content size it is one of a stream, whose window is as large as told."""
    packer = ctypes.c_void_p(_LIBRARY.ZSTD_createCCtx())
    for parameter, value in ((_LEVEL, level), (_CHECKSUM, checksum), (_CONTENT_SIZE, content_size), (_WINDOW_LOG, window_log)):
        _LIBRARY.ZSTD_CCtx_setParameter(packer, parameter, int(value))
    room = _LIBRARY.ZSTD_compressBound(_SIZE(len(data)))
    packed = ctypes.create_string_buffer(room)
    text = ctypes.create_string_buffer(bytes(data), len(data))
    read = _Buffer(ctypes.cast(text, ctypes.c_void_p), len(data), 0)
    written = _Buffer(ctypes.cast(packed, ctypes.c_void_p), room, 0)
    for directive in ((_END,) if content_size else (_CONTINUE, _END)):
        left = _LIBRARY.ZSTD_compressStream2(packer, ctypes.byref(written), ctypes.byref(read), directive)
    _LIBRARY.ZSTD_freeCCtx(packer)
    assert left == 0, "libzstd does not compress"
    return packed.raw[:written.pos]


def skippable(content):
    """A frame without text."""
    return b"\x50\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
