import { type Provider, requireText, textOf } from './provider.ts'

/** LinkedIn: https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2 */
export const linkedin: Provider = {
  title: 'LinkedIn',
  endpoints: () => ({
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    token: 'https://www.linkedin.com/oauth/v2/accessToken',
  }),
  scopes: ['openid', 'profile', 'email'],
  authentication: 'body',
  // PKCE is for native clients, which have no secret.
  acceptsPkce: false,
  async readProfile(api) {
    const user = await api.get('https://api.linkedin.com/v2/userinfo')
    return {
      subject: requireText(user.sub, 'sub'),
      email: textOf(user.email),
      isEmailVerified: user.email_verified === true || user.email_verified === 'true',
      name: textOf(user.name),
    }
  },
}
