import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { openToken, sealToken } from '../../../../lib/tokens.ts'

/**
 * Content of a refresh token: session id, rotation number, and a MAC of both. Without a query, every node
 * rejects tokens that were never issued, distinguishes an old token from a forged one, and derives the same
 * successor as other nodes. Nothing stored could be used as a token.
 */
export interface RefreshTokenContent {
  readonly sessionId: string
  /** Rotation number, 1 for the token of the sign-in. */
  readonly generation: number
}

const prefix = 'basalt_rt_'
const idBytes = 16
const generationBytes = 4
const macBytes = 32

export function createRefreshToken(content: RefreshTokenContent, key: KeyObject): string {
  const head = encodeHead(content)
  return sealToken(prefix, Buffer.concat([head, mac(head, key)]).toString('base64url'))
}

/** Parses a refresh token. Returns undefined when no server with this key made it. */
export function readRefreshToken(token: string, key: KeyObject): RefreshTokenContent | undefined {
  const content = openToken(prefix, token)
  if (content === undefined) return undefined
  const bytes = Buffer.from(content, 'base64url')
  if (bytes.length !== idBytes + generationBytes + macBytes || bytes.toString('base64url') !== content)
    return undefined
  const head = bytes.subarray(0, idBytes + generationBytes)
  if (!timingSafeEqual(mac(head, key), bytes.subarray(head.length))) return undefined
  return { sessionId: formatUuid(head.subarray(0, idBytes)), generation: head.readUInt32BE(idBytes) }
}

function encodeHead({ sessionId, generation }: RefreshTokenContent): Buffer {
  const head = Buffer.alloc(idBytes + generationBytes)
  head.write(sessionId.replaceAll('-', ''), 'hex')
  head.writeUInt32BE(generation, idBytes)
  return head
}

function mac(head: Buffer, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(head).digest()
}

function formatUuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
