import { audienceIs, type Provider, requireText, textOf } from './provider.ts'

/** GitHub: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps */
export const github: Provider = {
  title: 'GitHub',
  endpoints: () => ({
    issuer: 'https://github.com/login/oauth',
    authorize: 'https://github.com/login/oauth/authorize',
    token: 'https://github.com/login/oauth/access_token',
  }),
  scopes: ['user:email'],
  authentication: 'body',
  acceptsPkce: true,
  async readProfile(api) {
    const user = await api.get('https://api.github.com/user')
    // The address of the profile does not say whether it is verified.
    const emails = await api.getList('https://api.github.com/user/emails')
    const primary = emails.find((email) => email.primary === true && email.verified === true)
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(primary?.email, user.email),
      isEmailVerified: primary !== undefined,
      name: textOf(user.name, user.login),
    }
  },
  async findAudience(api) {
    const { clientId, clientSecret } = api.settings
    const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const url = `https://api.github.com/applications/${encodeURIComponent(clientId)}/token`
    const info = await api.request(url, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
      body: JSON.stringify({ access_token: api.accessToken }),
    })
    const app = info?.app
    return audienceIs(
      typeof app === 'object' && app !== null && 'client_id' in app && app.client_id,
      api.settings,
    )
  },
}
