import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Answered, choice, component, extended, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { builtInTemplates } from './built-in-templates.ts'
import { mailErrors } from './errors.ts'
import type { TemplateSource } from './parse-template.ts'

export const MailTemplateSummary = component(
  'MailTemplateSummary',
  Type.Object({
    templateKey: Type.String(),
    source: choice(['builtin', 'custom']),
    subjectTemplate: Type.String(),
    enabled: Type.Boolean(),
    variables: Type.Array(Type.String(), { description: 'Names of the placeholders.' }),
    updatedAt: Type.Optional(timestamp),
  }),
)
export type MailTemplateSummary = Answered<typeof MailTemplateSummary>

/** Built-in or custom template. */
export const MailTemplate = component(
  'MailTemplate',
  extended(MailTemplateSummary, Type.Object({ htmlTemplate: Type.String() })),
)
export type MailTemplate = Answered<typeof MailTemplate>

export const CustomMailTemplate = component(
  'CustomMailTemplate',
  extended(
    MailTemplate,
    Type.Object({
      id: Type.String({ format: 'uuid' }),
      createdAt: timestamp,
      warnings: Type.Optional(
        Type.Array(Type.String(), { description: 'Reasons why the template will not be used.' }),
      ),
    }),
  ),
)
export type CustomMailTemplate = Answered<typeof CustomMailTemplate>

const summary = sql`template_key as "templateKey", 'custom' as source, subject_template as "subjectTemplate", enabled,
  variables, updated_at as "updatedAt"`

/** Lists templates without their HTML: built-in keys first, each with its custom template if there is one. */
export async function listTemplates(database: Queryable): Promise<MailTemplateSummary[]> {
  const rows = await database.many<MailTemplateSummary>(
    sql`select ${summary} from basalt.email_templates order by template_key`,
  )
  const custom = rows.map(withSystemVariables)
  const builtIn = Array.from(
    builtInTemplates,
    ([templateKey, { subjectTemplate, variables }]) =>
      custom.find((template) => template.templateKey === templateKey) ??
      ({ templateKey, source: 'builtin', subjectTemplate, enabled: true, variables } as const),
  )
  return [...builtIn, ...custom.filter(({ templateKey }) => !builtInTemplates.has(templateKey))]
}

export async function findCustomTemplate(
  database: Queryable,
  key: string,
): Promise<MailTemplate | undefined> {
  return await database.maybeOne<MailTemplate>(
    sql`select ${summary}, html_template as "htmlTemplate" from basalt.email_templates where template_key = ${key}`,
  )
}

/** Returns the template of the next mail. @throws AppError template_not_found */
export async function getTemplate(database: Queryable, key: string): Promise<MailTemplate> {
  const custom = await findCustomTemplate(database, key)
  const builtIn = builtInTemplates.get(key)
  if (custom !== undefined && (custom.enabled || builtIn === undefined)) return withSystemVariables(custom)
  if (builtIn === undefined) throw mailErrors.templateNotFound()
  return { templateKey: key, source: 'builtin', enabled: true, ...builtIn }
}

/** Adds the variables that the system provides to a system template. */
function withSystemVariables<Template extends MailTemplateSummary>(template: Template): Template {
  const { variables = template.variables } = builtInTemplates.get(template.templateKey) ?? {}
  return { ...template, variables }
}

/**
 * Replaces the texts of an existing template and leaves it enabled or disabled.
 *
 * @param replaces the texts it must have; null: no custom template may exist; undefined: any
 * @returns undefined when it has other texts
 */
export async function upsertTemplate(
  database: Queryable,
  key: string,
  { subjectTemplate, htmlTemplate }: TemplateSource,
  variables: readonly string[],
  replaces: TemplateSource | null | undefined,
): Promise<(CustomMailTemplate & { readonly isNew: boolean }) | undefined> {
  const matches = sql`
    stored.subject_template = ${replaces?.subjectTemplate ?? null} and stored.html_template = ${replaces?.htmlTemplate ?? null}`
  const mayCreate =
    replaces == null
      ? sql`true`
      : sql`exists (select from basalt.email_templates stored where template_key = ${key} and ${matches})`
  const mayReplace =
    replaces === undefined ? sql`true` : replaces === null ? sql`not stored.enabled` : matches
  const stored = await database.maybeOne<CustomMailTemplate & { isNew: boolean }>(sql`
    insert into basalt.email_templates as stored (template_key, subject_template, html_template, variables)
    select ${key}, ${subjectTemplate}, ${htmlTemplate}, ${[...variables]}::text[] where ${mayCreate}
    on conflict (template_key) do update set
      subject_template = excluded.subject_template,
      html_template = excluded.html_template,
      variables = excluded.variables,
      updated_at = now()
    where ${mayReplace}
    returning id, ${summary}, html_template as "htmlTemplate", created_at as "createdAt", stored.xmax = 0 as "isNew"`)
  return stored && withSystemVariables(stored)
}

/** Enables or disables a custom template. Returns whether it exists. */
export async function setTemplateEnabled(
  database: Queryable,
  key: string,
  isEnabled: boolean,
): Promise<boolean> {
  const changed = await database.count(sql`
    update basalt.email_templates set enabled = ${isEnabled}, updated_at = now() where template_key = ${key}`)
  return changed > 0
}

/** Deletes a custom template. Returns whether it existed. */
export async function deleteTemplate(database: Queryable, key: string): Promise<boolean> {
  return (await database.count(sql`delete from basalt.email_templates where template_key = ${key}`)) > 0
}
