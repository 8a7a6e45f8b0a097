/** Bytes at the beginning of a file that hold its size, unless a JPEG has more metadata before it. */
export const headBytes = 256 * 1024

/** Returns the number of pixels of a JPEG, PNG or WebP by its first bytes; undefined where they do not say. */
export function readPixels(head: Buffer): number | undefined {
  if (head.length >= 24 && head.readUInt32BE(0) === 0x89504e47) {
    // PNG §11.2.1: IHDR is the first chunk.
    return head.readUInt32BE(16) * head.readUInt32BE(20)
  }
  if (head.length >= 30 && head.toString('latin1', 0, 4) === 'RIFF') return readWebp(head)
  if (head.length >= 2 && head.readUInt16BE(0) === 0xffd8) return readJpeg(head)
  return undefined
}

/** Returns the number of pixels of a WebP (RFC 9649 §2.5 to §2.7). */
function readWebp(head: Buffer): number | undefined {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return (head.readUInt16LE(26) & 0x3fff) * (head.readUInt16LE(28) & 0x3fff)
    case 'VP8L': {
      const bits = head.readUInt32LE(21)
      return ((bits & 0x3fff) + 1) * (((bits >>> 14) & 0x3fff) + 1)
    }
    case 'VP8X':
      return (head.readUIntLE(24, 3) + 1) * (head.readUIntLE(27, 3) + 1)
    default:
      return undefined
  }
}

/** Checks for a start of frame, of whatever coding (ITU-T T.81 table B.1). The other three markers of its range begin tables. */
const isFrame = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

function readJpeg(head: Buffer): number | undefined {
  let offset = 2
  while (offset + 9 <= head.length) {
    if (head[offset] !== 0xff) return undefined
    const marker = head[offset + 1] ?? 0
    // Fill bytes may precede a marker (T.81 §B.1.1.2).
    if (marker === 0xff) offset += 1
    else if (isFrame(marker)) return head.readUInt16BE(offset + 5) * head.readUInt16BE(offset + 7)
    else offset += 2 + head.readUInt16BE(offset + 2)
  }
  return undefined
}
