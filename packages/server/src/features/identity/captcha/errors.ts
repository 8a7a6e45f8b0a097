import { defineErrors } from '../../../lib/errors.ts'

export const captchaErrorTable = {
  captchaRequired: {
    status: 403,
    message: 'a captcha is required: send its response in X-Captcha-Response',
    help: '`GET /api/auth/captcha` with the `route` of `data.route` describes the captcha. `@basaltdb/client` solves a proof of work by itself, and calls the option `captcha` for other providers.',
  },
  captchaFailed: {
    status: 403,
    message: 'X-Captcha-Response: the captcha is wrong, has expired, was used, or is for another route',
    help: 'Each response counts once, for one route, for a few minutes. Solve a new captcha. Tokens of providers must come from a page whose host is in `auth.captcha.hostnames`, and those of Turnstile have the route as their action.',
  },
  captchaUnavailable: {
    status: 503,
    message: 'the captcha provider is unavailable',
    help: 'The server could not verify the captcha. Retry later. The operator sees the reason in the log, and may set `auth.captcha.on_failure`.',
  },
} as const

export const captchaErrors = defineErrors(captchaErrorTable)
