import { Type } from 'typebox'
import { flag, integer } from '../../../config/keys.ts'

/** Of `auth`: the OAuth 2.0 authorization server. */
export const oauthServerKeys = {
  oauth_provider: Type.Object({
    enabled: flag(false, 'Whether programs of others may ask users for access, by OAuth 2.0.'),
    access_token_duration: integer(3600, 'Seconds an access token of a client is valid.', 10, 86_400),
    refresh_token_duration: integer(
      2_592_000,
      'Seconds without a refresh after which a refresh token expires.',
      60,
      31_536_000,
    ),
    grant_duration: integer(
      31_536_000,
      'Seconds after which a client asks its user again, however often it has refreshed.',
      60,
      315_360_000,
    ),
    auth_code_duration: integer(600, 'Seconds an authorization code is valid.', 1, 600),
  }),
}
