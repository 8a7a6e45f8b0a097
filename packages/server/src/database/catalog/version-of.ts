import { createHash } from 'node:crypto'

/** Returns a short text that changes with any of the parts. */
export function versionOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)
}
