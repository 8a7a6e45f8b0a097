import { escapeHtml } from '../../../../lib/page.ts'
import { mailErrors } from '../errors.ts'
import { requireHtmlSize, requireLength, subjectLimit, textLimit } from '../parse-template.ts'
import { toPlainText } from '../plain-text.ts'
import type { RenderedMail, Variables } from '../render-template.ts'
import { requireTemplateKey } from '../template-key.ts'
import type { MailTemplates } from '../templates.ts'

/** Content of a mail: its own texts, or a template. */
export interface MailContent extends Partial<RenderedMail> {
  readonly templateKey?: string
  readonly variables?: Variables
}

/**
 * Composes a mail.
 *
 * @throws AppError missing_template_field, invalid_mail_field, template_too_large, template_not_found,
 * template_render_error, …
 */
export async function compose(content: MailContent, templates: MailTemplates): Promise<RenderedMail> {
  const { subject = '', html = '', text = '', templateKey, variables } = content
  if (templateKey !== undefined) {
    if (subject !== '' || html !== '' || text !== '') {
      throw mailErrors.invalidMailField('expected either templateKey or subject with html or text, not both')
    }
    return await templates.render(requireTemplateKey(templateKey), variables ?? {})
  }
  if (variables !== undefined) throw mailErrors.missingTemplateField('templateKey')
  if (subject.trim() === '') throw mailErrors.missingTemplateField('subject')
  if (html.trim() === '' && text.trim() === '') throw mailErrors.missingTemplateField('html or text')
  for (const [name, value] of Object.entries({ subject, html, text })) {
    if (!value.isWellFormed() || value.includes('\0')) {
      throw mailErrors.invalidMailField(`${name}: not valid Unicode text`)
    }
  }
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(subject)) throw mailErrors.invalidMailField('subject: expected one line')
  requireLength('subject', subject, subjectLimit)
  requireLength('text', text, textLimit)
  requireHtmlSize(html)
  return {
    subject,
    html: html === '' ? `<p>${escapeHtml(text).replaceAll('\n', '<br>\n')}</p>` : html,
    text: text === '' ? toPlainText(html) : text,
  }
}
