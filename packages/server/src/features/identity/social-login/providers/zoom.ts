import { type Provider, requireText, textOf } from './provider.ts'

/** Zoom: https://developers.zoom.us/docs/integrations/oauth/ */
export const zoom: Provider = {
  title: 'Zoom',
  endpoints: () => ({
    authorize: 'https://zoom.us/oauth/authorize',
    token: 'https://zoom.us/oauth/token',
  }),
  scopes: ['user:read:email'],
  authentication: 'basic',
  acceptsPkce: true,
  async readProfile(api) {
    const user = await api.get('https://api.zoom.us/v2/users/me')
    const parts = [user.first_name, user.last_name].filter((part) => typeof part === 'string')
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(user.email),
      isEmailVerified: user.verified === 1 || user.verified === true,
      name: textOf(user.display_name, parts.join(' ')),
    }
  },
}
