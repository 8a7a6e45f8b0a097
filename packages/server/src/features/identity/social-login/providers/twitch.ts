import { audienceIs, objectOf, type Provider, requireText, textOf } from './provider.ts'

/** Twitch: https://dev.twitch.tv/docs/authentication/getting-tokens-oauth */
export const twitch: Provider = {
  title: 'Twitch',
  endpoints: () => ({
    authorize: 'https://id.twitch.tv/oauth2/authorize',
    token: 'https://id.twitch.tv/oauth2/token',
  }),
  scopes: ['user:read:email'],
  authentication: 'body',
  acceptsPkce: false,
  async readProfile(api) {
    const headers = { 'client-id': api.settings.clientId }
    const { data } = await api.get('https://api.twitch.tv/helix/users', { headers })
    const user = objectOf(Array.isArray(data) ? data[0] : undefined)
    const email = textOf(user.email)
    return {
      subject: requireText(user.id, 'data[0].id'),
      email,
      // The endpoint's reference says: "The user's verified email address".
      isEmailVerified: email !== undefined,
      name: textOf(user.display_name, user.login),
    }
  },
  async findAudience({ accessToken, settings, request }) {
    const headers = { authorization: `OAuth ${accessToken}` }
    const info = await request('https://id.twitch.tv/oauth2/validate', { headers })
    return audienceIs(info?.client_id, settings)
  },
}
