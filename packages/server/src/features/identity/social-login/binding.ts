import { createHmac } from 'node:crypto'
import type { Binding } from './provider-client.ts'

/**
 * The nonce and the PKCE verifier of a sign-in are made from its state by a key of the server, so that the database needs
 * to hold the hash of the state only.
 */
export function bindState(key: Buffer, provider: string, state: string, redirectUri: string): Binding {
  const derive = (purpose: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify(['social sign-in', purpose, provider, state]))
      .digest('base64url')
  return { state, redirectUri, nonce: derive('nonce'), codeVerifier: derive('code verifier') }
}
