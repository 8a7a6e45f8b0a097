/**
 * Returns the dashboard's Content Security Policy. It allows its own scripts, no inline code but style elements
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

/**
 * Returns the Content Security Policy of GraphiQL's page. It allows no other origin and no `eval`. Trusted Types are
 * not enforced, because GraphiQL inserts the HTML that it renders from descriptions of the schema.
 */
export function graphiqlPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
