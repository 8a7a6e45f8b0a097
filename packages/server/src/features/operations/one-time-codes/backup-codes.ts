import { randomInt } from 'node:crypto'

/** Number of codes. Each has the form xxxxx-xxxxx, without similar letters, and works once. */
const codes = 10
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const half = 5

export function createBackupCodes(): string[] {
  return Array.from({ length: codes }, createBackupCode)
}

function createBackupCode(): string {
  const letters = Array.from({ length: 2 * half }, () => alphabet.charAt(randomInt(alphabet.length))).join('')
  return `${letters.slice(0, half)}-${letters.slice(half)}`
}

/** Returns a code without the characters that typing adds to it. */
export function normalizeBackupCode(code: string): string {
  return code.trim().toLowerCase().replace(/[\s-]/g, '')
}
