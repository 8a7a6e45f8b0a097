import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import type { TemplateSource } from './parse-template.ts'

/** A custom template. */
export interface TemplateRow {
  readonly id: string
  readonly template_key: string
  readonly subject_template: string
  readonly html_template: string
  readonly variables: string[]
  readonly enabled: boolean
  readonly created_at: Date
  readonly updated_at: Date
}

/** Without the HTML, which makes a list heavy. */
export type TemplateListRow = Omit<TemplateRow, 'html_template'>

const listColumns = sql`id, template_key, subject_template, variables, enabled, created_at, updated_at`

export async function listTemplates(database: Queryable): Promise<TemplateListRow[]> {
  return await database.many<TemplateListRow & Record<string, unknown>>(
    sql`select ${listColumns} from basalt.email_templates order by template_key`,
  )
}

export async function findTemplate(database: Queryable, key: string): Promise<TemplateRow | undefined> {
  return await database.maybeOne<TemplateRow & Record<string, unknown>>(
    sql`select ${listColumns}, html_template from basalt.email_templates where template_key = ${key}`,
  )
}

/**
 * Replaces the texts of a template that is there and leaves it enabled or disabled as it was.
 *
 * @param replaces the texts it must have; null: it must not be in force; undefined: whatever it has
 * @returns undefined when it has others
 */
export async function upsertTemplate(
  database: Queryable,
  key: string,
  { subjectTemplate, htmlTemplate }: TemplateSource,
  variables: readonly string[],
  replaces: TemplateSource | null | undefined,
): Promise<(TemplateRow & { readonly is_new: boolean }) | undefined> {
  const matches = sql`
    stored.subject_template = ${replaces?.subjectTemplate ?? null} and stored.html_template = ${replaces?.htmlTemplate ?? null}`
  const mayCreate =
    replaces == null
      ? sql`true`
      : sql`exists (select from basalt.email_templates stored where template_key = ${key} and ${matches})`
  const mayReplace =
    replaces === undefined ? sql`true` : replaces === null ? sql`not stored.enabled` : matches
  return await database.maybeOne<TemplateRow & { is_new: boolean } & Record<string, unknown>>(sql`
    insert into basalt.email_templates as stored (template_key, subject_template, html_template, variables)
    select ${key}, ${subjectTemplate}, ${htmlTemplate}, ${[...variables]}::text[] where ${mayCreate}
    on conflict (template_key) do update set
      subject_template = excluded.subject_template,
      html_template = excluded.html_template,
      variables = excluded.variables,
      updated_at = now()
    where ${mayReplace}
    returning ${listColumns}, html_template, stored.xmax = 0 as is_new`)
}

/** Whether there is such a template. */
export async function setTemplateEnabled(
  database: Queryable,
  key: string,
  isEnabled: boolean,
): Promise<boolean> {
  const changed = await database.count(sql`
    update basalt.email_templates set enabled = ${isEnabled}, updated_at = now() where template_key = ${key}`)
  return changed > 0
}

/** Whether there was such a template. */
export async function deleteTemplate(database: Queryable, key: string): Promise<boolean> {
  return (await database.count(sql`delete from basalt.email_templates where template_key = ${key}`)) > 0
}
