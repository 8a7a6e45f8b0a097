import { mailErrors } from './errors.ts'

/** Words joined by dots, at least two. */
const form = /^[a-z][a-z0-9]*(?:\.[a-z][a-z0-9_]*)+$/
const limit = 255

/** How the keys of the system's own templates begin. */
export const systemTemplatePrefix = 'auth.'

/** @throws AppError invalid_template_key */
export function requireTemplateKey(key: string): string {
  if (key.length <= limit && form.test(key)) return key
  throw mailErrors.invalidTemplateKey(key.length <= limit ? key : `${key.slice(0, limit)}…`)
}
