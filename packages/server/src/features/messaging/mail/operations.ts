import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { checkedByHandler, choice, listOf, nullable, refusedWith } from '../../../http/schemas.ts'
import { isEmailAddress } from '../../../lib/email-address.ts'
import { messageOf } from '../../../lib/errors.ts'
import { Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { MailBackend } from './backend.ts'
import { builtInTemplates } from './built-in-templates.ts'
import { mailErrors } from './errors.ts'
import { htmlLimit, parseTemplate, subjectLimit } from './parse-template.ts'
import { renderTemplate } from './render-template.ts'
import {
  CustomMailTemplate,
  deleteTemplate,
  getTemplate,
  listTemplates,
  MailTemplate,
  MailTemplateSummary,
  setTemplateEnabled,
  upsertTemplate,
} from './template.ts'
import { templateKey } from './template-key.ts'
import type { MailTemplates } from './templates.ts'

export interface MailDeps {
  readonly database: SystemDatabase
  readonly templates: MailTemplates
  readonly backend: MailBackend
  readonly throttle: Throttle
  readonly log: Logger
}

/** Maximum size of a body, enough for the largest template with every character escaped. */
export const bodyLimit = 2 * 1024 * 1024

const common = { guard: 'admin', permission: 'content.write', tag: 'mail' } as const
const collection = '/api/admin/email/templates'
const item = `${collection}/:key`
const params = Type.Object({ key: templateKey })

const missing = (field: string) => ({ missing: () => mailErrors.missingTemplateField(field) })

const source = {
  subjectTemplate: refusedWith(
    missing('subjectTemplate'),
    checkedByHandler(
      { format: 'template', maxLength: subjectLimit },
      Type.String({ minLength: 1, description: 'One line with placeholders such as `{{.Name}}`.' }),
    ),
  ),
  htmlTemplate: refusedWith(
    missing('htmlTemplate'),
    checkedByHandler(
      { format: 'template', maxLength: htmlLimit },
      Type.String({
        minLength: 1,
        description: 'HTML with placeholders in text and in attribute values.',
      }),
    ),
  ),
}

export const variables = Type.Optional(
  Type.Record(Type.String(), Type.String(), { description: 'Values by placeholder name.' }),
)

const list = operation({
  ...common,
  id: 'mail.listTemplates',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List email templates',
  description: 'System and custom templates, without their HTML.',
  success: ok(listOf(MailTemplateSummary)),
  async handle({ database }: MailDeps) {
    const items = await listTemplates(database)
    return { items, count: items.length }
  },
})

const get = operation({
  ...common,
  id: 'mail.getTemplate',
  permission: 'content.read',
  method: 'GET',
  path: item,
  summary: 'Get the current template',
  description: 'Returns the custom template, or the built-in one if the custom one is missing or disabled.',
  params,
  success: ok(MailTemplate),
  handle: async ({ database }: MailDeps, { params }) => await getTemplate(database, params.key),
})

const replace = operation({
  ...common,
  id: 'mail.putTemplate',
  method: 'PUT',
  path: item,
  summary: 'Create or replace a custom template',
  description: 'A disabled template stays disabled.',
  params,
  body: Type.Object({
    ...source,
    replaces: Type.Optional(
      nullable(Type.Object({ subjectTemplate: Type.String(), htmlTemplate: Type.String() }), {
        description:
          'Texts that the template must have, as read before. null means that only the built-in template, or none, may exist. Otherwise the response is 409.',
      }),
    ),
  }),
  bodyLimit,
  success: ok(CustomMailTemplate),
  async handle({ database, templates }: MailDeps, { params: { key }, body, origin }) {
    const { subjectTemplate, replaces } = body
    const { variables } = parseTemplate(body)
    const { isNew: _, ...template } = await database.transaction(async (transaction) => {
      const stored = await upsertTemplate(transaction, key, body, variables, replaces)
      if (stored === undefined) throw mailErrors.templateChanged()
      const detail = { isNew: stored.isNew, subjectTemplate }
      const entry = { actor: 'admin', action: 'mail.put_template', target: key, detail, origin }
      await recordAudit(transaction, entry)
      return stored
    })
    templates.invalidate(key)
    const warnings = unknownVariables(key, variables)
    return { ...template, ...(warnings.length === 0 ? {} : { warnings }) }
  },
})

const patch = operation({
  ...common,
  id: 'mail.patchTemplate',
  method: 'PATCH',
  path: item,
  summary: 'Enable or disable a custom template',
  params,
  body: Type.Object({ enabled: refusedWith(missing('enabled field'), Type.Boolean()) }),
  success: ok(Type.Object({ templateKey: Type.String(), enabled: Type.Boolean() })),
  async handle({ database, templates }: MailDeps, { params: { key }, body: { enabled }, origin }) {
    await database.transaction(async (transaction) => {
      if (!(await setTemplateEnabled(transaction, key, enabled))) throw mailErrors.templateNotFound()
      const action = enabled ? 'mail.enable_template' : 'mail.disable_template'
      await recordAudit(transaction, { actor: 'admin', action, target: key, origin })
    })
    templates.invalidate(key)
    return { templateKey: key, enabled }
  },
})

const remove = operation({
  ...common,
  id: 'mail.deleteTemplate',
  method: 'DELETE',
  path: item,
  summary: 'Delete a custom template',
  description: 'The built-in template of the key, if there is one, applies again.',
  params,
  success: noContent,
  async handle({ database, templates }: MailDeps, { params: { key }, origin }) {
    await database.transaction(async (transaction) => {
      if (!(await deleteTemplate(transaction, key))) throw mailErrors.templateNotFound()
      const action = 'mail.delete_template'
      await recordAudit(transaction, { actor: 'admin', action, target: key, origin })
    })
    templates.invalidate(key)
  },
})

const preview = operation({
  ...common,
  id: 'mail.previewTemplate',
  permission: 'content.read',
  method: 'POST',
  path: `${item}/preview`,
  summary: 'Preview a template without saving it',
  params,
  body: Type.Object({ ...source, variables }),
  bodyLimit,
  success: ok(Type.Object({ subject: Type.String(), html: Type.String(), text: Type.String() })),
  handle: (_deps: MailDeps, { body }) => renderTemplate(parseTemplate(body), body.variables ?? {}),
})

/** Limit of administrators, ample for testing templates and for notices. It bounds the damage of a stolen token. */
const sendLimit: AttemptLimit = { name: 'mail.send', attempts: 1000, windowSeconds: 3600 }

const send = operation({
  ...common,
  id: 'mail.send',
  method: 'POST',
  path: '/api/admin/email/send',
  summary: 'Send a mail from a template',
  body: Type.Object({
    templateKey,
    to: refusedWith(
      missing('to'),
      checkedByHandler(
        { format: 'email' },
        Type.String({ minLength: 1, description: 'Recipient, one address without a name.' }),
      ),
    ),
    variables,
  }),
  bodyLimit,
  success: ok(Type.Object({ status: choice(['sent']) })),
  async handle({ database, backend, throttle, log }: MailDeps, { body, origin }) {
    const { templateKey: key, variables = {} } = body
    const to = body.to.trim()
    if (to === '') throw mailErrors.missingTemplateField('to')
    if (!isEmailAddress(to)) throw mailErrors.invalidRecipient()
    const template = await getTemplate(database, key)
    if (!template.enabled) throw mailErrors.templateNotFound()
    const mail = renderTemplate(parseTemplate(template), variables)
    requireAllowed(await throttle.attempt(sendLimit, 'admin'), mailErrors.mailLimitReached())
    const id = randomUUID()
    // The audit row is written before the mail is sent, so that no sent mail goes unrecorded.
    const detail = { to, id }
    await recordAudit(database, { actor: 'admin', action: 'mail.send', target: key, detail, origin })
    try {
      await backend.send({ to, ...mail }, { id })
    } catch (error) {
      const reason = messageOf(error)
      log.warn({ templateKey: key, id, reason }, 'failed to send a mail of the administration')
      throw mailErrors.mailNotSent().with({ data: { reason }, cause: error })
    }
    return { status: 'sent' } as const
  },
})

/** Operations of administrators on mail templates, and on sending. */
export const mailOperations = [list, get, replace, patch, remove, preview, send]

/**
 * Returns warnings about unknown variables. The system provides certain variables for its mail, and a
 * template with others is never used.
 */
function unknownVariables(key: string, used: readonly string[]): string[] {
  const known = builtInTemplates.get(key)?.variables
  if (known === undefined) return []
  return used
    .filter((name) => !known.includes(name))
    .map(
      (name) => `{{.${name}}} is not among ${known.join(', ')}: the built-in template will be sent instead`,
    )
}
