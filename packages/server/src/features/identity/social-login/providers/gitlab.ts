import { audienceIs, type ClientSettings, objectOf, type Provider, requireText, textOf } from './provider.ts'

/** GitLab: https://docs.gitlab.com/api/oauth2/ */
export const gitlab: Provider = {
  title: 'GitLab',
  endpoints: (settings) => ({
    authorize: `${baseOf(settings)}/oauth/authorize`,
    token: `${baseOf(settings)}/oauth/token`,
  }),
  scopes: ['read_user'],
  authentication: 'body',
  acceptsPkce: true,
  async readProfile(api) {
    const user = await api.get(`${baseOf(api.settings)}/api/v4/user`)
    return {
      subject: requireText(user.id, 'id'),
      email: textOf(user.email),
      isEmailVerified: textOf(user.confirmed_at) !== undefined,
      name: textOf(user.name, user.username),
    }
  },
  async findAudience(api) {
    const info = await api.get(`${baseOf(api.settings)}/oauth/token/info`)
    return audienceIs(objectOf(info.application).uid, api.settings)
  },
}

function baseOf({ extra }: ClientSettings): string {
  return (extra.gitlab_base_url ?? 'https://gitlab.com').replace(/\/$/, '')
}
