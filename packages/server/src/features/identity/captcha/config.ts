import { choice, integer, list, text } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Routes that a captcha can guard: they cost money or make accounts. */
export const captchaRoutes = ['register', 'sms', 'magic_link', 'password_reset', 'anonymous'] as const

export type CaptchaRoute = (typeof captchaRoutes)[number]

const url = { pattern: '^(https?://[^?#\\s]+)?$', expects: 'an http or https URL' }

const captcha = Type.Object({
  provider: choice(
    'off',
    ['off', 'proof_of_work', 'turnstile', 'hcaptcha', 'friendly_captcha'],
    'Captcha of routes that cost money or make accounts. proof_of_work needs no third party.',
  ),
  routes: list(
    [...captchaRoutes],
    'Routes that require it: register, sms, magic_link, password_reset, anonymous.',
    {
      pattern: `^(${captchaRoutes.join('|')})$`,
      expects: `a list of ${captchaRoutes.join(', ')}`,
    },
  ),
  difficulty: integer(
    50_000,
    'Largest number of hashes that a proof of work takes. The average is half of it.',
    1000,
    10_000_000,
  ),
  site_key: text('', 'Public key of the site at the provider.', {
    expects: 'the key that the provider shows',
  }),
  secret: text('', 'Secret key of the site at the provider.', {
    secret: true,
    expects: 'the key that the provider shows',
  }),
  hostnames: list(
    [],
    'Hosts of pages whose tokens count. Empty: those of server.public_base_url and auth.site_url.',
    {
      pattern: '^[a-z0-9.-]+$',
      expects: 'a list of host names in lower case',
    },
  ),
  on_failure: choice(
    'refuse',
    ['refuse', 'accept'],
    'Effect of a provider that is unavailable: requests are refused with 503, or accepted without a captcha.',
  ),
  verify_url: text('', 'URL that verifies tokens of the provider. Empty: that of the provider.', url),
})

/** Keys of `auth` for captchas. */
export const captchaKeys = { captcha }

export type CaptchaConfig = Static<typeof captcha>

interface Sections {
  readonly auth: { readonly captcha: CaptchaConfig }
}

/** Rules of `auth.captcha`. */
export const captchaRules: readonly ConfigRule<Sections>[] = [providersNeedKeys]

function providersNeedKeys({ auth: { captcha } }: Sections): RuleViolation | undefined {
  if (captcha.provider === 'off' || captcha.provider === 'proof_of_work') return undefined
  const key = captcha.secret === '' ? 'secret' : captcha.site_key === '' ? 'site_key' : undefined
  if (key === undefined) return undefined
  return { key: `auth.captcha.${key}`, problem: `required with auth.captcha.provider = ${captcha.provider}` }
}
