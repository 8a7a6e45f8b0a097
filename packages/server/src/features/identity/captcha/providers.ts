import type { CaptchaConfig } from './config.ts'

/** Provider that verifies tokens of its widget. */
export type ProviderName = Exclude<CaptchaConfig['provider'], 'off' | 'proof_of_work'>

/** Judgement of a provider about a token. */
export type Judgement =
  | { readonly isPassed: true; readonly hostname: string; readonly action?: string | undefined }
  | { readonly isPassed: false; readonly reason: string }
  /** The provider could not judge, for example because our secret is wrong. */
  | { readonly fault: string }

interface Keys {
  readonly secret: string
  readonly siteKey: string
}

export interface Provider {
  readonly url: string
  /** True if the page names the route as the action of a token. */
  readonly hasAction: boolean
  /** Script of the widget, the class of its element, and the origins that the page's policy must admit. */
  readonly widget: {
    readonly script: string
    /** Hash of the script (Subresource Integrity). A provider that changes its own script has none. */
    readonly integrity?: string
    readonly className: string
    readonly origins: readonly string[]
  }
  /** Form field in which the widget stores its token. */
  readonly field: string
  request(keys: Keys, token: string): { readonly headers: Record<string, string>; readonly body: string }
  judge(status: number, json: Readonly<Record<string, unknown>>): Judgement
}

const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' }

/** Error codes of Turnstile and hCaptcha that blame our secret or the provider. All others may be due to the client. */
const faultCodes: ReadonlySet<string> = new Set([
  'missing-input-secret',
  'invalid-input-secret',
  'internal-error',
])

/** Judges by the `siteverify` protocol that Turnstile and hCaptcha share. */
function judgeSiteverify(status: number, json: Readonly<Record<string, unknown>>): Judgement {
  if (status >= 500) return { fault: `status ${status}` }
  const { success, hostname, action } = json
  if (success === true) {
    return {
      isPassed: true,
      hostname: typeof hostname === 'string' ? hostname : '',
      ...(typeof action === 'string' ? { action } : {}),
    }
  }
  const given: unknown = json['error-codes']
  const codes = Array.isArray(given) ? given.map(String) : []
  const reason = codes.length === 0 ? `status ${status}` : codes.join(', ')
  return codes.some((code) => faultCodes.has(code)) ? { fault: reason } : { isPassed: false, reason }
}

export const providers: Readonly<Record<ProviderName, Provider>> = {
  // https://developers.cloudflare.com/turnstile/get-started/server-side-validation/
  turnstile: {
    url: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
    hasAction: true,
    widget: {
      script: 'https://challenges.cloudflare.com/turnstile/v0/api.js',
      className: 'cf-turnstile',
      origins: ['https://challenges.cloudflare.com'],
    },
    field: 'cf-turnstile-response',
    request: ({ secret }, response) => ({
      headers: formHeaders,
      body: new URLSearchParams({ secret, response }).toString(),
    }),
    judge: judgeSiteverify,
  },
  // https://docs.hcaptcha.com/#verify-the-user-response-server-side
  hcaptcha: {
    url: 'https://api.hcaptcha.com/siteverify',
    hasAction: false,
    widget: {
      script: 'https://js.hcaptcha.com/1/api.js',
      className: 'h-captcha',
      origins: ['https://hcaptcha.com', 'https://*.hcaptcha.com'],
    },
    field: 'h-captcha-response',
    request: ({ secret, siteKey }, response) => ({
      headers: formHeaders,
      body: new URLSearchParams({ secret, response, sitekey: siteKey }).toString(),
    }),
    judge: judgeSiteverify,
  },
  // https://developer.friendlycaptcha.com/docs/v2/api/siteverify
  friendly_captcha: {
    url: 'https://global.frcapi.com/api/v2/captcha/siteverify',
    hasAction: false,
    widget: {
      // It is served by a third party, so its content is fixed.
      script: 'https://cdn.jsdelivr.net/npm/@friendlycaptcha/sdk@0.1.37/site.compat.min.js',
      integrity: 'sha384-Y1YtfIFqojxnpongYzHqluDPjfYrxJeRrNYpcxDVzyW52EY6Udk9Vh24TwXnF0VZ',
      className: 'frc-captcha',
      origins: ['https://global.frcapi.com'],
    },
    field: 'frc-captcha-response',
    request: ({ secret, siteKey }, response) => ({
      headers: { 'content-type': 'application/json', 'x-api-key': secret },
      body: JSON.stringify({ response, sitekey: siteKey }),
    }),
    judge(status, json) {
      const data = json.data as { challenge?: { origin?: unknown } } | undefined
      if (json.success === true) return { isPassed: true, hostname: hostOf(data?.challenge?.origin) }
      const { error_code: code } = (json.error ?? {}) as { error_code?: unknown }
      const reason = String(code ?? `status ${status}`)
      // A wrong API key is a 401.
      return status >= 500 || status === 401 ? { fault: reason } : { isPassed: false, reason }
    },
  },
}

/** Returns the host of an origin, or of a text that is a host already. */
function hostOf(origin: unknown): string {
  if (typeof origin !== 'string') return ''
  return URL.canParse(origin) ? new URL(origin).hostname : origin
}
