/** Trusted Types API (W3C). TypeScript has no types for it yet, and some browsers lack it. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createHTML(html: string): string },
  ): { createHTML(html: string): string }
}
const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }

/**
 * Trusted Types policy, the only one that the Content Security Policy of the page allows. Its HTML is shown in a frame without
 * permissions, or parsed into a document that is never shown. No HTML of the database becomes part of the page.
 */
const inert = trustedTypes?.createPolicy('basalt-inert', { createHTML: (html) => html })
const trust = (html: string): string => inert?.createHTML(html) ?? html

/** Parses HTML into a document in which no script runs and no handler fires. */
export const parseInert = (html: string): Document =>
  new DOMParser().parseFromString(trust(html), 'text/html')

/** Shows HTML in a frame without permissions: no scripts, no forms and a separate origin. */
export function showInert(frame: HTMLIFrameElement, html: string): void {
  frame.setAttribute('sandbox', '')
  frame.srcdoc = trust(html)
}
