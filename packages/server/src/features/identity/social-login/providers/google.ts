import { audienceIs, type Provider, requireText, textOf } from './provider.ts'

/** Google: https://developers.google.com/identity/protocols/oauth2/web-server */
export const google: Provider = {
  title: 'Google',
  endpoints: () => ({
    issuer: 'https://accounts.google.com',
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    jwks: 'https://www.googleapis.com/oauth2/v3/certs',
  }),
  scopes: ['openid', 'email', 'profile'],
  authentication: 'body',
  acceptsPkce: true,
  authorizeParameters: { access_type: 'offline' },
  async readProfile(api) {
    const user = await api.get('https://www.googleapis.com/oauth2/v2/userinfo')
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(user.email),
      isEmailVerified: user.verified_email === true,
      name: textOf(user.name),
    }
  },
  async findAudience(api) {
    const query = new URLSearchParams({ access_token: api.accessToken })
    const info = await api.request(`https://oauth2.googleapis.com/tokeninfo?${query}`, {})
    return audienceIs(info?.aud, api.settings)
  },
}
