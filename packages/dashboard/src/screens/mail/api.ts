import { listByOffset } from '../../api/page-list.ts'
import { get, patch, post, put, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/email/templates`. */
export interface ListedTemplate {
  readonly templateKey: string
  readonly source: 'builtin' | 'custom'
  readonly subjectTemplate: string
  readonly enabled: boolean
  readonly variables: readonly string[]
  readonly updatedAt?: string
}

export interface Template extends ListedTemplate {
  readonly htmlTemplate: string
}

export interface TemplateSource {
  readonly subjectTemplate: string
  readonly htmlTemplate: string
}

export interface Preview {
  readonly subject: string
  readonly html: string
  readonly text: string
}

export interface SentMail {
  readonly id: string
  readonly user_id: string | null
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly template_key: string | null
  readonly status: string
  readonly error_message: string | null
  readonly created_at: string
}

export type Variables = Readonly<Record<string, string>>

const path = 'admin/email/templates'
const pathOf = (key: string) => `${path}/${segment(key)}`

export const listTemplates = (signal: AbortSignal) => get<{ items: ListedTemplate[] }>(path, {}, { signal })
export const readTemplate = (key: string, signal: AbortSignal) => get<Template>(pathOf(key), {}, { signal })
/** @param replaces what was read; null: the built-in template, or none; undefined: whatever is stored. @throws BasaltError `template_changed` */
export const saveTemplate = (key: string, source: TemplateSource, replaces?: TemplateSource | null) =>
  put<TemplateSource & { warnings?: string[] }>(pathOf(key), { ...source, replaces })
export const setEnabled = (key: string, enabled: boolean) => patch(pathOf(key), { enabled })
export const deleteTemplate = (key: string) => remove(pathOf(key))
/** A read, although it has a body: nothing is stored. */
export const previewTemplate = (
  key: string,
  source: TemplateSource,
  variables: Variables,
  signal: AbortSignal,
) => post<Preview>(`${pathOf(key)}/preview`, { ...source, variables }, { signal })
export const sendTemplate = (templateKey: string, to: string, variables: Variables) =>
  post('admin/email/send', { templateKey, to, variables })

const pageSize = 50

export const listSent = (cursor: string | undefined, signal: AbortSignal) =>
  listByOffset<SentMail>('admin/email/sent', { limit: pageSize }, cursor, signal)
