import { issuerOf, type OAuthContext } from '../context.ts'
import { ProtocolError } from '../protocol-error.ts'
import { OtherResponseType, type Target } from './request.ts'

/** Returns the redirect address with a code (RFC 6749 §4.1.2). Its `iss` distinguishes servers (RFC 9207). */
export function codeAddress(context: OAuthContext, target: Target, code: string): string {
  return answerAddress(context, target, { code })
}

/** Returns the redirect address with an error (RFC 6749 §4.1.2.1). */
export function errorAddress(context: OAuthContext, target: Target, error: ProtocolError): string {
  const code = error instanceof OtherResponseType ? error.redirectCode : error.code
  return answerAddress(context, target, { error: code, error_description: error.message })
}

export function denied(): ProtocolError {
  return new ProtocolError('access_denied', 'resource owner denied access')
}

function answerAddress(
  context: OAuthContext,
  { redirectUri, encodedState }: Target,
  parameters: Readonly<Record<string, string>>,
): string {
  const pairs = Object.entries({ ...parameters, iss: issuerOf(context) }).map(
    ([name, value]) => `${name}=${encodeURIComponent(value)}`,
  )
  const state = encodedState === undefined ? [] : [`state=${encodedState}`]
  return `${redirectUri}?${[...pairs, ...state].join('&')}`
}
