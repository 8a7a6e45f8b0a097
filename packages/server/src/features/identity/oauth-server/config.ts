import { flag, integer, list } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `auth` for the OAuth 2.0 authorization server. */
export const oauthServerKeys = {
  oauth_provider: Type.Object({
    enabled: flag(false, 'True if third-party programs may request access from users, by OAuth 2.0.'),
    access_token_duration: integer(
      3600,
      'Seconds for which an access token of a client is valid.',
      10,
      86_400,
    ),
    refresh_token_duration: integer(
      2_592_000,
      'Seconds without a refresh after which a refresh token expires.',
      60,
      31_536_000,
    ),
    grant_duration: integer(
      31_536_000,
      'Seconds after which a client needs a new consent, however often it has refreshed.',
      60,
      315_360_000,
    ),
    auth_code_duration: integer(600, 'Seconds for which an authorization code is valid.', 1, 600),
    client_metadata_documents: flag(
      false,
      'True if the id of a client may be the https address of a document that describes it.',
    ),
    dynamic_registration: flag(false, 'True if clients may register themselves (RFC 7591).'),
    self_registered_scopes: list(
      ['readonly', 'readwrite'],
      'Scopes for clients that no administrator has registered.',
      {
        pattern: '^(readonly|readwrite|\\*)$',
        expects: 'a list of readonly, readwrite and *',
        minItems: 1,
      },
    ),
    registrations_per_hour: integer(
      20,
      'Registrations and fetched client documents per address and hour, a hundred times as many in development.',
      1,
      100_000,
    ),
  }),
}

export type OAuthServerConfig = Static<ReturnType<typeof Type.Object<typeof oauthServerKeys>>>
