import type { FastifyRequest } from 'fastify'
import type { PendingIdentity } from '../../../../http/access/identity.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import {
  type AuthenticationResponse,
  clientOf,
  confirmMagicLink,
  confirmSmsCode,
  logIn,
  type PendingResponse,
} from '../../accounts/index.ts'
import { providers } from '../../captcha/index.ts'
import { verifyBackupCode, verifySentCode, verifyTotp } from '../../mfa/index.ts'
import { finishSignIn, verifyPasskey } from '../../passkeys/index.ts'
import type { PageContext } from './context.ts'

export type SignedIn = AuthenticationResponse | PendingResponse

interface StepInput {
  readonly form: URLSearchParams
  readonly request: FastifyRequest
}

type FirstStep = (context: PageContext, input: StepInput) => Promise<SignedIn>
type SecondStep = (
  context: PageContext,
  pending: PendingIdentity,
  input: StepInput,
) => Promise<AuthenticationResponse>

/** Forms that sign a person in, by their step. */
export const firstSteps: Readonly<Record<string, FirstStep>> = {
  password: ({ passkeys }, { form, request }) =>
    logIn(
      passkeys.mfa.accounts,
      { email: text(form, 'email'), password: text(form, 'password') },
      clientOf(request),
      addressKey(request),
    ),
  link: ({ passkeys }, { form, request }) =>
    confirmMagicLink(passkeys.mfa.accounts, tokenOf(text(form, 'link')), undefined, clientOf(request)),
  'phone-code': ({ passkeys }, { form, request }) =>
    confirmSmsCode(
      passkeys.mfa.accounts,
      { phone: text(form, 'phone'), code: text(form, 'code') },
      clientOf(request),
      addressKey(request),
    ),
  passkey: ({ passkeys }, { form, request }) =>
    finishSignIn(passkeys, 'discoverable', assertionOf(form), clientOf(request), addressKey(request)),
}

const sent =
  (method: 'email' | 'sms'): SecondStep =>
  ({ passkeys }, pending, { form, request }) =>
    verifySentCode(passkeys.mfa, pending, method, codeOf(form), clientOf(request))

/** Forms that verify a second factor, by their step. */
export const secondSteps: Readonly<Record<string, SecondStep>> = {
  totp: ({ passkeys }, pending, { form, request }) =>
    verifyTotp(passkeys.mfa, pending, codeOf(form), clientOf(request)),
  email: sent('email'),
  sms: sent('sms'),
  backup: ({ passkeys }, pending, { form, request }) =>
    verifyBackupCode(passkeys.mfa, pending, text(form, 'code'), clientOf(request)),
  'second-passkey': ({ passkeys }, pending, { form, request }) =>
    verifyPasskey(passkeys, pending, assertionOf(form), clientOf(request)),
}

/** Returns a member of a form. PostgreSQL allows no NUL in texts. */
export function text(form: URLSearchParams, name: string): string {
  const value = form.get(name) ?? ''
  if (value.includes('\0')) throw httpErrors.invalidRequest(`${name}: NUL is not allowed`)
  return value
}

/** Returns the response of a captcha, in our own field or that of the provider's widget. */
export function captchaField(form: URLSearchParams): string | undefined {
  const names = ['captcha', ...Object.values(providers).map(({ field }) => field)]
  return names.map((name) => text(form, name)).find((value) => value !== '')
}

function codeOf(form: URLSearchParams) {
  return { challenge_id: text(form, 'challenge_id'), code: text(form, 'code') }
}

function assertionOf(form: URLSearchParams) {
  const challenge_id = text(form, 'challenge_id')
  try {
    const assertion_response: unknown = JSON.parse(text(form, 'assertion'))
    return { challenge_id, assertion_response }
  } catch {
    return { challenge_id }
  }
}

/** Returns the token of a pasted link, or the token itself. */
function tokenOf(pasted: string): string {
  const [, token = pasted.trim()] = /[?&]token=([^&#\s]+)/.exec(pasted) ?? []
  return token
}
