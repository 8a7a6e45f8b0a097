export {
  type AccessTokenClaims,
  type AccessTokenKeys,
  createAccessTokenVerifier,
  signAccessToken,
} from './access-token.ts'
