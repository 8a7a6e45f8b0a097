import { createHash } from 'node:crypto'

/** A short text that differs when any of the parts does. */
export function versionOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16)
}
