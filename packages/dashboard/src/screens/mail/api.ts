import { listByOffset } from '../../api/page-list.ts'
import { type ApiResponse, get, type Item, patch, post, put, remove, segment } from '../../api/request.ts'

export type ListedTemplate = Item<'mail.listTemplates'>
export type Template = ApiResponse<'mail.getTemplate'>

export interface TemplateSource {
  readonly subjectTemplate: string
  readonly htmlTemplate: string
}

export type Preview = ApiResponse<'mail.previewTemplate'>
export type SentMail = Item<'mail.listSent'>
export type Variables = Readonly<Record<string, string>>

const path = 'admin/email/templates'
const pathOf = (key: string) => `${path}/${segment(key)}` as const

export const listTemplates = (signal: AbortSignal) => get<'mail.listTemplates'>(path, {}, { signal })
export const readTemplate = (key: string, signal: AbortSignal) =>
  get<'mail.getTemplate'>(pathOf(key), {}, { signal })
/**
 * Saves a template. @param replaces stored template that was read; null if none was stored; undefined to overwrite any. @throws
 * BasaltError `template_changed`
 */
export const saveTemplate = (key: string, source: TemplateSource, replaces?: TemplateSource | null) =>
  put<'mail.putTemplate'>(pathOf(key), { ...source, replaces })
export const setEnabled = (key: string, enabled: boolean) =>
  patch<'mail.patchTemplate'>(pathOf(key), { enabled })
export const deleteTemplate = (key: string) => remove<'mail.deleteTemplate'>(pathOf(key))
/** Previews a template. The request has a body, but it stores nothing and can be repeated. */
export const previewTemplate = (
  key: string,
  source: TemplateSource,
  variables: Variables,
  signal: AbortSignal,
) => post<'mail.previewTemplate'>(`${pathOf(key)}/preview`, { ...source, variables }, { signal })
export const sendTemplate = (templateKey: string, to: string, variables: Variables) =>
  post<'mail.send'>('admin/email/send', { templateKey, to, variables })

const pageSize = 50

export const listSent = (
  range: { readonly from: string | undefined; readonly to: string | undefined },
  cursor: string | undefined,
  signal: AbortSignal,
) => listByOffset<'mail.listSent'>('admin/email/sent', { ...range, limit: pageSize }, cursor, signal)
