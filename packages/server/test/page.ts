import { createHash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import type { TestResponse } from './test-app.ts'

/** The directives of a content security policy by name. */
export function policyOf(response: TestResponse): Record<string, string> {
  const policy = response.headers.get('content-security-policy') ?? ''
  return Object.fromEntries(
    policy.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(' ')
      return [name, sources.join(' ')]
    }),
  )
}

/** What stands between `<tag>` and its end, and the source expression that allows it. */
export function inlineParts(html: string, tag: 'script' | 'style'): { content: string; source: string }[] {
  return [...html.matchAll(new RegExp(`<${tag}>(.*?)</${tag}>`, 'gs'))].map(([, content = '']) => ({
    content,
    source: `'sha256-${createHash('sha256').update(content).digest('base64')}'`,
  }))
}

/** As much of a page's element as the scripts of our small pages use. */
export interface PageElement {
  textContent: string
  value: string
  disabled: boolean
  hidden: boolean
  click(): Promise<void>
}

export interface OpenPage {
  /** The element of this id; the page must have it. */
  element(id: string): PageElement
  /** What the address bar shows. */
  address(): string
}

/** Runs the script of one of our small pages as a browser would, against the server it came from. */
export function openPage(base: string, html: string, path: string, fragment: string): OpenPage {
  const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const elements = new Map<string, PageElement & Record<string, unknown>>()
  const element = (id: string) => {
    if (!ids.has(id)) throw new Error(`the page has no element "${id}"`)
    const known = elements.get(id)
    if (known !== undefined) return known
    const listeners: (() => Promise<void>)[] = []
    const made = {
      textContent: '',
      value: '',
      disabled: false,
      hidden: new RegExp(`<[^>]* id="${id}"[^>]* hidden`).test(html),
      addEventListener: (_type: string, listener: () => Promise<void>) => listeners.push(listener),
      focus: () => undefined,
      async click() {
        if (!made.disabled) await Promise.all(listeners.map((listener) => listener()))
      },
    }
    elements.set(id, made)
    return made
  }
  let address = path + fragment
  const [script] = inlineParts(html, 'script')
  runInNewContext(script?.content ?? '', {
    document: { getElementById: element },
    location: { pathname: path, hash: fragment },
    history: {
      replaceState: (_state: unknown, _title: string, to: string) => {
        address = to
      },
    },
    fetch: (to: string, options: RequestInit) => fetch(new URL(to, base), options),
    URLSearchParams,
  })
  return { element, address: () => address }
}
