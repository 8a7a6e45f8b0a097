/**
 * The page's Content Security Policy: its own scripts, nothing inline but style elements with the nonce, no other origin.
 * Pictures are blobs that the page has looked at; HTML is taken by frames without permissions alone (`basalt-inert`, the
 * Trusted Types policy of the page).
 */
export function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    'trusted-types basalt-inert',
    "frame-ancestors 'none'",
  ].join('; ')
}
