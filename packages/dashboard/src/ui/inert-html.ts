/** Trusted Types (W3C), which the types of TypeScript do not have yet, and which some browsers lack. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createHTML(html: string): string },
  ): { createHTML(html: string): string }
}
const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }

/**
 * The one policy that the page's Content Security Policy allows. What it lets through is shown in a frame without permissions
 * or parsed into a document that is never shown, so that no HTML of the database becomes part of the page.
 */
const inert = trustedTypes?.createPolicy('basalt-inert', { createHTML: (html) => html })
const trust = (html: string): string => inert?.createHTML(html) ?? html

/** A document in which no script runs and no handler fires. */
export const parseInert = (html: string): Document =>
  new DOMParser().parseFromString(trust(html), 'text/html')

/** Without permissions: no scripts, no forms, an origin of its own. */
export function showInert(frame: HTMLIFrameElement, html: string): void {
  frame.setAttribute('sandbox', '')
  frame.srcdoc = trust(html)
}
