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
  /** Value of `AppName` where the caller gives none. */
  readonly appName: string
  readonly log: Logger
}

/** Templates of the mail of the system. */
export interface MailTemplates {
  /**
   * Fills in the template of the key: the custom one if there is one that is enabled and works, else the built-in.
   *
   * @throws AppError template_not_found, template_render_error
   */
  render(key: string, variables: Variables): Promise<RenderedMail>
  /** Looks the custom template up again at its next use on this node. */
  forget(key: string): void
}

/** Time that another node may still use a template after it was changed. */
const trustMs = 1000
/** A template can take half a megabyte. */
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
    const known = lookups.get(key)
    if (known !== undefined && performance.now() - known.at < trustMs) return known.custom
    const lookup = { at: performance.now(), custom: load(key) }
    lookups.set(key, lookup)
    // A failed look-up is made again by the next mail.
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
    async render(key, given) {
      const variables = { AppName: appName, ...given }
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
        // A password must be resettable whatever became of the template, or of the database.
        const reason = messageOf(error)
        log.warn(
          { templateKey: key, reason },
          'failed to render the custom email template; sending the built-in',
        )
      }
      return renderTemplate(fallback, variables)
    },
    forget(key) {
      lookups.delete(key)
    },
  }
}
