import { audienceIs, type ClientSettings, objectOf, type Provider, requireText, textOf } from './provider.ts'

/** Facebook: https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow */
export const facebook: Provider = {
  title: 'Facebook',
  endpoints: (settings) => ({
    authorize: `https://www.facebook.com/${versionOf(settings)}/dialog/oauth`,
    token: `https://graph.facebook.com/${versionOf(settings)}/oauth/access_token`,
  }),
  scopes: ['email', 'public_profile'],
  authentication: 'body',
  acceptsPkce: true,
  async readProfile(api) {
    const base = `https://graph.facebook.com/${versionOf(api.settings)}`
    const user = await api.get(`${base}/me?fields=id,name,email,picture`)
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(user.email),
      // The Graph API does not say whether the address was verified.
      isEmailVerified: false,
      name: textOf(user.name),
    }
  },
  async findAudience({ accessToken, settings, request }) {
    const query = new URLSearchParams({
      input_token: accessToken,
      access_token: `${settings.clientId}|${settings.clientSecret}`,
    })
    const info = await request(`https://graph.facebook.com/${versionOf(settings)}/debug_token?${query}`, {})
    const { app_id: appId, is_valid: isValid } = objectOf(info?.data)
    return isValid === true ? audienceIs(appId, settings) : 'foreign'
  },
}

function versionOf({ extra }: ClientSettings): string {
  return extra.facebook_api_version ?? 'v22.0'
}
