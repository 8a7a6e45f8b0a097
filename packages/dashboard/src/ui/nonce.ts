/** Nonce of the page's Content Security Policy, for style elements that libraries insert. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
