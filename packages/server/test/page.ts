import { createHash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import type { TestResponse } from './test-app.ts'

/** Returns the directives of a content security policy by name. */
export function policyOf(response: TestResponse): Record<string, string> {
  const policy = response.headers.get('content-security-policy') ?? ''
  return Object.fromEntries(
    policy.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(' ')
      return [name, sources.join(' ')]
    }),
  )
}

/** Lists the contents of `<tag>` elements, each with the source expression that allows it. */
export function inlineParts(html: string, tag: 'script' | 'style'): { content: string; source: string }[] {
  return [...html.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map(([, content = '']) => ({
    content,
    source: `'sha256-${createHash('sha256').update(content).digest('base64')}'`,
  }))
}

/** Part of a page's element that the scripts of our small pages use. */
export interface PageElement {
  textContent: string
  value: string
  type: string
  disabled: boolean
  hidden: boolean
  /** Clicks it, or submits it as a form. */
  trigger(): Promise<void>
}

export interface OpenPage {
  /** Returns the element of this id, which must exist. */
  element(id: string): PageElement
  /** Returns the address of the page. */
  address(): string
  /** Session storage of the tab, to be passed to the next page of the same tab. */
  readonly storage: Map<string, string>
}

/** Runs the script of one of our small pages as a browser would, against the server of the page. */
export function openPage(
  base: string,
  html: string,
  path: string,
  fragment: string,
  storage = new Map<string, string>(),
): OpenPage {
  const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const elements = new Map<string, PageElement & Record<string, unknown>>()
  const element = (id: string) => {
    if (!ids.has(id)) throw new Error(`the page has no element "${id}"`)
    const known = elements.get(id)
    if (known !== undefined) return known
    const listeners: ((event: object) => Promise<void>)[] = []
    const [tag = ''] = new RegExp(`<[^>]* id="${id}"[^>]*`).exec(html) ?? []
    const made = {
      textContent: '',
      value: '',
      type: / type="(\w+)"/.exec(tag)?.[1] ?? '',
      disabled: false,
      hidden: tag.includes(' hidden'),
      addEventListener: (_type: string, listener: () => Promise<void>) => listeners.push(listener),
      focus: () => undefined,
      select: () => undefined,
      async trigger() {
        const event = { preventDefault: () => undefined }
        if (!made.disabled) await Promise.all(listeners.map((listener) => listener(event)))
      },
    }
    elements.set(id, made)
    return made
  }
  let address = path + fragment
  const [script] = inlineParts(html, 'script')
  runInNewContext(script?.content ?? '', {
    document: { getElementById: element },
    location: { pathname: path, hash: fragment, reload: () => undefined },
    history: {
      replaceState: (_state: unknown, _title: string, to: string) => {
        address = to
      },
    },
    sessionStorage: {
      getItem: (key: string) => storage.get(key) ?? null,
      setItem: (key: string, value: string) => storage.set(key, value),
      removeItem: (key: string) => storage.delete(key),
    },
    fetch: (to: string, options: RequestInit) => fetch(new URL(to, base), options),
    URLSearchParams,
  })
  return { element, address: () => address, storage }
}
