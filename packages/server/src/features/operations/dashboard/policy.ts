/**
 * The page's Content Security Policy: its own scripts, nothing inline but style elements with the nonce, no other origin.
 * Pictures and previews are blobs that the page has looked at.
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
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Not enforced: libraries of the page do not create Trusted Types yet. Browsers name what would break. */
export const reportedPolicy = "require-trusted-types-for 'script'"
