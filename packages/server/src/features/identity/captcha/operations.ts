import { ok, operation } from '../../../http/operation.ts'
import { choice, component } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { Captcha } from './captcha.ts'
import { captchaRoutes } from './config.ts'

const CaptchaChallenge = component(
  'CaptchaChallenge',
  Type.Object({
    provider: choice(['off', 'proof_of_work', 'turnstile', 'hcaptcha', 'friendly_captcha']),
    route: choice([...captchaRoutes]),
    siteKey: Type.Optional(Type.String({ description: 'Public key, for the widget of the provider.' })),
    algorithm: Type.Optional(choice(['SHA-256'])),
    challenge: Type.Optional(
      Type.String({ description: 'SHA-256 of the salt followed by the number to find, in hexadecimal.' }),
    ),
    maxnumber: Type.Optional(Type.Integer({ description: 'Largest number to try; the first one is 0.' })),
    salt: Type.Optional(Type.String()),
    signature: Type.Optional(Type.String()),
  }),
)

export const describeCaptcha = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'captcha.describe',
  method: 'GET',
  path: '/api/auth/captcha',
  summary: 'Describe the captcha of a route',
  description:
    'A proof of work has the form of ALTCHA, version 1. The response to it is base64 of the JSON object with `algorithm`, `challenge`, `number`, `salt` and `signature`. It is valid once, for this route, for five minutes.',
  query: Type.Object({ route: choice([...captchaRoutes]) }),
  success: ok(CaptchaChallenge),
  handle: ({ captcha }: { readonly captcha: Captcha }, { query }) => captcha.describe(query.route),
})
