import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { isEmailAddress } from '../../../lib/email-address.ts'
import { messageOf } from '../../../lib/errors.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { MailBackend } from './backend.ts'
import { builtInTemplates } from './built-in-templates.ts'
import { mailErrors } from './errors.ts'
import { parseTemplate, type TemplateSource } from './parse-template.ts'
import * as queries from './queries.ts'
import { type RenderedMail, renderTemplate, type Variables } from './render-template.ts'
import type { MailTemplates } from './templates.ts'

export interface MailServiceDeps {
  readonly database: SystemDatabase
  readonly templates: MailTemplates
  readonly backend: MailBackend
  readonly throttle: Throttle
  readonly log: Logger
}

/** A template as the administration sees it. */
export interface ListedTemplate {
  readonly templateKey: string
  readonly source: 'builtin' | 'custom'
  readonly subjectTemplate: string
  readonly enabled: boolean
  readonly variables: readonly string[]
  /** Of custom ones. */
  readonly updatedAt?: string
}

export interface EffectiveTemplate extends ListedTemplate {
  readonly htmlTemplate: string
}

export interface StoredTemplate extends EffectiveTemplate {
  readonly id: string
  readonly createdAt: string
  readonly updatedAt: string
  /** What keeps the template from being used, if anything does. */
  readonly warnings?: readonly string[]
}

/** What the administration does with templates. Keys have been checked. */
export interface MailService {
  /** Built-in keys first, each with the custom template in its place if there is one. */
  list(): Promise<ListedTemplate[]>
  /** @throws AppError template_not_found */
  get(key: string): Promise<EffectiveTemplate>
  /** @throws AppError template_too_large, template_parse_error */
  put(
    key: string,
    source: TemplateSource,
    replaces: TemplateSource | null | undefined,
    origin: RequestOrigin,
  ): Promise<StoredTemplate>
  /** @throws AppError template_not_found when there is no custom one */
  setEnabled(key: string, isEnabled: boolean, origin: RequestOrigin): Promise<void>
  /** @throws AppError template_not_found when there is no custom one */
  delete(key: string, origin: RequestOrigin): Promise<void>
  /** @throws AppError template_too_large, template_parse_error, template_render_error */
  preview(source: TemplateSource, variables: Variables): RenderedMail
  /** @throws AppError template_not_found, template_render_error, invalid_recipient, mail_limit_reached, mail_not_sent */
  send(key: string, to: string, variables: Variables, origin: RequestOrigin): Promise<void>
}

/** Ample for trying out templates and for notices; a stolen token is no mail cannon. */
const sendLimit: AttemptLimit = { name: 'mail.send', attempts: 1000, windowSeconds: 3600 }

export function createMailService(deps: MailServiceDeps): MailService {
  const { database, templates, backend, throttle, log } = deps

  /** What a mail of this key is made of now. */
  async function findEffective(key: string): Promise<EffectiveTemplate> {
    const row = await queries.findTemplate(database, key)
    const builtIn = builtInTemplates.get(key)
    if (row !== undefined && (row.enabled || builtIn === undefined)) {
      return { ...showCustom(row), htmlTemplate: row.html_template }
    }
    if (builtIn === undefined) throw mailErrors.templateNotFound()
    return { templateKey: key, source: 'builtin', enabled: true, ...builtIn }
  }

  async function requireSend(): Promise<void> {
    requireAllowed(await throttle.attempt(sendLimit, 'admin'), mailErrors.mailLimitReached())
  }

  return {
    async list() {
      const rows = await queries.listTemplates(database)
      const byKey = new Map(rows.map((row) => [row.template_key, row]))
      const system = Array.from(builtInTemplates, ([key, { subjectTemplate, variables }]): ListedTemplate => {
        const row = byKey.get(key)
        if (row !== undefined) return showCustom(row)
        return { templateKey: key, source: 'builtin', subjectTemplate, enabled: true, variables }
      })
      const own = rows.filter(({ template_key }) => !builtInTemplates.has(template_key))
      return [...system, ...own.map(showCustom)]
    },

    get: findEffective,

    async put(key, source, replaces, origin) {
      const { variables } = parseTemplate(source)
      const row = await database.transaction(async (transaction) => {
        const stored = await queries.upsertTemplate(transaction, key, source, variables, replaces)
        if (stored === undefined) throw mailErrors.templateChanged()
        const detail = { isNew: stored.is_new, subjectTemplate: source.subjectTemplate }
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'mail.put_template',
          target: key,
          detail,
          origin,
        })
        return stored
      })
      templates.forget(key)
      const warnings = unknownVariables(key, variables)
      return {
        id: row.id,
        ...showCustom(row),
        htmlTemplate: row.html_template,
        createdAt: row.created_at.toISOString(),
        ...(warnings.length === 0 ? {} : { warnings }),
      }
    },

    async setEnabled(key, isEnabled, origin) {
      await database.transaction(async (transaction) => {
        if (!(await queries.setTemplateEnabled(transaction, key, isEnabled))) {
          throw mailErrors.templateNotFound()
        }
        const action = isEnabled ? 'mail.enable_template' : 'mail.disable_template'
        await recordAudit(transaction, { actor: 'admin', action, target: key, origin })
      })
      templates.forget(key)
    },

    async delete(key, origin) {
      await database.transaction(async (transaction) => {
        if (!(await queries.deleteTemplate(transaction, key))) throw mailErrors.templateNotFound()
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'mail.delete_template',
          target: key,
          origin,
        })
      })
      templates.forget(key)
    },

    preview: (source, variables) => renderTemplate(parseTemplate(source), variables),

    async send(key, to, variables, origin) {
      if (!isEmailAddress(to)) throw mailErrors.invalidRecipient()
      const template = await findEffective(key)
      if (!template.enabled) throw mailErrors.templateNotFound()
      const mail = renderTemplate(parseTemplate(template), variables)
      await requireSend()
      const id = randomUUID()
      // Before the mail: what was sent must not go unrecorded.
      await recordAudit(database, {
        actor: 'admin',
        action: 'mail.send',
        target: key,
        detail: { to, id },
        origin,
      })
      try {
        await backend.send({ to, ...mail }, { id })
      } catch (error) {
        const reason = messageOf(error)
        log.warn({ templateKey: key, id, reason }, 'failed to send a mail of the administration')
        throw mailErrors.mailNotSent().with({ data: { reason }, cause: error })
      }
    },
  }
}

function showCustom(row: queries.TemplateListRow): ListedTemplate & { readonly updatedAt: string } {
  return {
    templateKey: row.template_key,
    source: 'custom',
    subjectTemplate: row.subject_template,
    enabled: row.enabled,
    variables: builtInTemplates.get(row.template_key)?.variables ?? row.variables,
    updatedAt: row.updated_at.toISOString(),
  }
}

/** The system gives its mail these variables and no others; with more a template is never used. */
function unknownVariables(key: string, used: readonly string[]): string[] {
  const known = builtInTemplates.get(key)?.variables
  if (known === undefined) return []
  return used
    .filter((name) => !known.includes(name))
    .map(
      (name) => `{{.${name}}} is not among ${known.join(', ')}: the built-in template will be sent instead`,
    )
}
