import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import { Lru } from '../../../lib/lru.ts'
import { builtInTemplates } from './built-in-templates.ts'
import { mailErrors } from './errors.ts'
import { parseTemplate, type Template } from './parse-template.ts'
import { type RenderedMail, renderTemplate, type Variables } from './render-template.ts'
import { findCustomTemplate } from './template.ts'

export interface MailTemplatesDeps {
  readonly database: SystemDatabase
  /** Default value of `AppName`. */
  readonly appName: string
  readonly log: Logger
}

/** Templates of system mail. */
export interface MailTemplates {
  /**
   * Renders the template of the key: the custom one if it is enabled and works, otherwise the built-in one.
   *
   * @throws AppError template_not_found, template_render_error
   */
  render(key: string, variables: Variables): Promise<RenderedMail>
  /** Removes the custom template from the cache of this node. */
  invalidate(key: string): void
}

/** Time for which another node may still use a template after a change. */
const trustMs = 1000
/** Maximum number of cached templates, each of up to half a megabyte. */
const cacheSize = 100

interface Lookup {
  readonly at: number
  readonly custom: Promise<Template | undefined>
}

export function createMailTemplates({ database, appName, log }: MailTemplatesDeps): MailTemplates {
  const lookups = new Lru<string, Lookup>(cacheSize)
  const builtIns = new Map<string, Template>()

  function builtIn(key: string): Template | undefined {
    const source = builtInTemplates.get(key)
    if (source === undefined) return undefined
    const template = builtIns.get(key) ?? parseTemplate(source)
    builtIns.set(key, template)
    return template
  }

  async function load(key: string): Promise<Template | undefined> {
    const stored = await findCustomTemplate(database, key)
    return stored?.enabled === true ? parseTemplate(stored) : undefined
  }

  function customTemplate(key: string): Promise<Template | undefined> {
    const cached = lookups.get(key)
    if (cached !== undefined && performance.now() - cached.at < trustMs) return cached.custom
    const lookup = { at: performance.now(), custom: load(key) }
    lookups.set(key, lookup)
    // The next mail repeats a failed lookup.
    lookup.custom.catch(() => {
      if (lookups.get(key) === lookup) lookups.delete(key)
    })
    return lookup.custom
  }

  async function renderCustom(key: string, variables: Variables): Promise<RenderedMail | undefined> {
    const template = await customTemplate(key)
    return template === undefined ? undefined : renderTemplate(template, variables)
  }

  return {
    async render(key, values) {
      const variables = { AppName: appName, ...values }
      const fallback = builtIn(key)
      if (fallback === undefined) {
        const mail = await renderCustom(key, variables)
        if (mail === undefined) throw mailErrors.templateNotFound()
        return mail
      }
      try {
        const mail = await renderCustom(key, variables)
        if (mail !== undefined) return mail
      } catch (error) {
        // A password reset must work even if the template or the database fails.
        const reason = messageOf(error)
        log.warn(
          { templateKey: key, reason },
          'failed to render the custom email template; sending the built-in',
        )
      }
      return renderTemplate(fallback, variables)
    },
    invalidate(key) {
      lookups.delete(key)
    },
  }
}
