import { audienceIs, objectOf, type Provider, requireText, textOf } from './provider.ts'

/** Discord: https://discord.com/developers/docs/topics/oauth2 */
export const discord: Provider = {
  title: 'Discord',
  endpoints: () => ({
    authorize: 'https://discord.com/api/oauth2/authorize',
    token: 'https://discord.com/api/oauth2/token',
  }),
  scopes: ['identify', 'email'],
  authentication: 'body',
  acceptsPkce: true,
  async readProfile(api) {
    const user = await api.get('https://discord.com/api/users/@me')
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(user.email),
      isEmailVerified: user.verified === true,
      name: textOf(user.global_name, user.username),
    }
  },
  async findAudience(api) {
    const info = await api.get('https://discord.com/api/oauth2/@me')
    return audienceIs(objectOf(info.application).id, api.settings)
  },
}
