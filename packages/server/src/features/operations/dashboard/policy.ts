/**
 * Returns the page's Content Security Policy. It allows its own scripts, no inline code but style elements
 * with the nonce, and no other origin. Pictures are blobs that the page has checked. Only frames without
 * permissions accept HTML (`basalt-inert`, the Trusted Types policy of the page).
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
