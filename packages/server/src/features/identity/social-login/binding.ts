import { createHmac, type KeyObject } from 'node:crypto'
import type { Binding } from './provider-client.ts'

/**
 * Derives the nonce and the PKCE verifier of a sign-in from its state, by a key of the server. The database
 * then stores only the hash of the state.
 */
export function bindState(key: KeyObject, provider: string, state: string, redirectUri: string): Binding {
  const derive = (purpose: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify(['social sign-in', purpose, provider, state]))
      .digest('base64url')
  return { state, redirectUri, nonce: derive('nonce'), codeVerifier: derive('code verifier') }
}
