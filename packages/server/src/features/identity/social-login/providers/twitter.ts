import { objectOf, type Provider, requireText, textOf } from './provider.ts'

/** Twitter: https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/authorization-code */
export const twitter: Provider = {
  title: 'X',
  endpoints: () => ({
    authorize: 'https://twitter.com/i/oauth2/authorize',
    token: 'https://api.twitter.com/2/oauth2/token',
  }),
  scopes: ['users.read', 'tweet.read', 'offline.access'],
  authentication: 'basic',
  acceptsPkce: true,
  async readProfile(api) {
    const { data } = await api.get('https://api.twitter.com/2/users/me?user.fields=profile_image_url')
    const user = objectOf(data)
    return {
      subject: requireText(user.id, 'data.id'),
      isEmailVerified: false,
      name: textOf(user.name, user.username),
    }
  },
}
