import { isStorableText } from '../../../lib/storable-text.ts'
import { isBrokenSecret } from '../../../lib/webhook-signature.ts'
import { webhookErrors } from './errors.ts'
import { actions, recordActions, type Webhook } from './webhook.ts'

const urlLimit = 2048
export const secretLimit = 1024
export const tablesLimit = 1000
export const nameLimit = 200

/** Rules of {@link readUrl}, for the API document. */
export const urlRules = { format: 'uri', maxLength: urlLimit }

/** @throws AppError invalid_webhook */
export function readUrl(text: string): string {
  const url = text.trim()
  if (url === '') throw webhookErrors.invalidWebhook('url is required')
  if (url.length > urlLimit) throw webhookErrors.invalidWebhook(`url: at most ${urlLimit} characters`)
  const parsed = URL.parse(url)
  if (parsed === null || !/^https?:\/\//i.test(url) || parsed.hostname === '') {
    throw webhookErrors.invalidWebhook('url must be an absolute http or https URL')
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw webhookErrors.invalidWebhook('url must not include embedded credentials')
  }
  return storable('url', url)
}

/** Parses a secret. Returns undefined for none. @throws AppError invalid_webhook */
export function readSecret(text: string | null): string | undefined {
  if (text === null || text === '') return undefined
  if (text.length > secretLimit)
    throw webhookErrors.invalidWebhook(`secret: at most ${secretLimit} characters`)
  requireWellFormed('secret', text)
  if (isBrokenSecret(text)) throw webhookErrors.invalidWebhook('secret: expected base64 after whsec_')
  return text
}

/** Parses the events. An empty list means all events of records. @throws AppError invalid_webhook */
export function readEvents(events: readonly string[]): Webhook['events'] {
  const wrong = events.find((event) => !isAction(event))
  if (wrong !== undefined) {
    throw webhookErrors.invalidWebhook(
      `invalid event: ${wrong} (must be create, update, delete, or truncate)`,
    )
  }
  return events.length === 0 ? recordActions : [...new Set(events.filter(isAction))]
}

function isAction(event: string): event is Webhook['events'][number] {
  return actions.some((action) => action === event)
}

/** Parses table names. The tables need not exist yet. @throws AppError invalid_webhook */
export function readTables(tables: readonly string[]): string[] {
  if (tables.length > tablesLimit) throw webhookErrors.invalidWebhook(`tables: at most ${tablesLimit}`)
  for (const name of tables) {
    if (name.trim() === '' || name.length > nameLimit) {
      throw webhookErrors.invalidWebhook(`tables: ${JSON.stringify(name)} is not the name of a collection`)
    }
    storable('tables', name)
  }
  return [...new Set(tables)]
}

function storable(field: string, text: string): string {
  if (!isStorableText(text)) {
    throw webhookErrors.invalidWebhook(`${field}: expected Unicode text without NUL`)
  }
  return text
}

function requireWellFormed(field: string, text: string): string {
  if (!text.isWellFormed()) throw webhookErrors.invalidWebhook(`${field}: expected well-formed Unicode`)
  return text
}
