/** Encodes a message of PostgreSQL's protocol, version 3 (PostgreSQL, Message Formats). */

export function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

/** Encodes the messages of a server that accepts a client. */
export function greeting(processId: number): Buffer {
  const secretKey = 0
  return Buffer.concat([
    message('R', int32(0)),
    message('S', Buffer.concat([text('server_version'), text('18')])),
    message('K', Buffer.concat([int32(processId), int32(secretKey)])),
    ready(),
  ])
}

/** Encodes a fatal error. */
export function failure(code: string, reason: string): Buffer {
  const fields = ['SFATAL', `C${code}`, `M${reason}`].map(text)
  return message('E', Buffer.concat([...fields, Buffer.from([0])]))
}

/** Encodes ReadyForQuery outside of a transaction. */
export function ready(): Buffer {
  return message('Z', Buffer.from('I'))
}

/** Splits a stream into messages. The first message of a client has no type and gets ''. */
export function createReader(
  isBackend: boolean,
  receive: (type: string, frame: Buffer) => void,
): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0)
  let isStarted = isBackend
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const typeLength = isStarted ? 1 : 0
      if (rest.length < typeLength + 4) return
      const end = typeLength + rest.readInt32BE(typeLength)
      if (rest.length < end) return
      const frame = rest.subarray(0, end)
      rest = rest.subarray(end)
      const type = isStarted ? String.fromCharCode(frame[0] ?? 0) : ''
      isStarted = true
      receive(type, frame)
    }
  }
}

export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

export function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeInt32BE(value)
  return buffer
}

export function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeInt16BE(value)
  return buffer
}
