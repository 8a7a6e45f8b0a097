import { type ClientSettings, type Provider, requireText, textOf } from '../providers/provider.ts'

/** Settings of this server's client at a stand-in, which keeps no clients. */
export const standInSettings: ClientSettings = {
  clientId: 'basalt-dev',
  clientSecret: 'basalt-dev',
  storesTokens: false,
  extra: {},
}

/**
 * Returns the provider that replaces a built-in one in `basalt dev`: its three endpoints below the address of the
 * stand-in. The title says that it is one.
 */
export function createStandInProvider(name: string, { title }: Provider, standIn: string): Provider {
  const address = (endpoint: string) => `${standIn}/${name}/${endpoint}`
  return {
    title: `${title} (stand-in)`,
    endpoints: () => ({ authorize: address('authorize'), token: address('token') }),
    scopes: ['openid', 'email', 'profile'],
    authentication: 'body',
    acceptsPkce: true,
    async readProfile(api) {
      const user = await api.get(address('userinfo'))
      return {
        subject: requireText(user.sub, 'sub'),
        email: textOf(user.email),
        isEmailVerified: user.email_verified === true,
        name: textOf(user.name),
      }
    },
    // It has issued every token that its userinfo accepts, and for no other client.
    findAudience: () => 'ours',
  }
}
