import { type Provider, requireText, textOf } from './provider.ts'

/** Figma: https://developers.figma.com/docs/rest-api/authentication/ */
export const figma: Provider = {
  title: 'Figma',
  endpoints: () => ({
    authorize: 'https://www.figma.com/oauth',
    token: 'https://api.figma.com/v1/oauth/token',
  }),
  scopes: ['file_read'],
  authentication: 'body',
  acceptsPkce: true,
  async readProfile(api) {
    const user = await api.get('https://api.figma.com/v1/me')
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(user.email),
      isEmailVerified: false,
      name: textOf(user.handle),
    }
  },
}
