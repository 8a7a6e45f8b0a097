import { type Provider, requireText, textOf } from './provider.ts'

/** Slack: https://api.slack.com/authentication/sign-in-with-slack */
export const slack: Provider = {
  title: 'Slack',
  endpoints: () => ({
    authorize: 'https://slack.com/openid/connect/authorize',
    token: 'https://slack.com/api/openid.connect.token',
  }),
  scopes: ['openid', 'profile', 'email'],
  authentication: 'body',
  acceptsPkce: false,
  async readProfile(api) {
    const user = await api.get('https://slack.com/api/openid.connect.userInfo')
    return {
      subject: requireText(user.sub, 'sub'),
      email: textOf(user.email),
      isEmailVerified: user.email_verified === true,
      name: textOf(user.name),
    }
  },
}
