import { type Provider, requireText, textOf } from './provider.ts'

/** Spotify: https://developer.spotify.com/documentation/web-api/tutorials/code-flow */
export const spotify: Provider = {
  title: 'Spotify',
  endpoints: () => ({
    authorize: 'https://accounts.spotify.com/authorize',
    token: 'https://accounts.spotify.com/api/token',
  }),
  scopes: ['user-read-email', 'user-read-private'],
  authentication: 'body',
  acceptsPkce: true,
  async readProfile(api) {
    const user = await api.get('https://api.spotify.com/v1/me')
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(user.email),
      // The endpoint's reference says: "This email address is unverified".
      isEmailVerified: false,
      name: textOf(user.display_name),
    }
  },
}
