import { objectOf, type Provider, requireText, textOf } from './provider.ts'

/** Bitbucket: https://developer.atlassian.com/cloud/bitbucket/rest/intro/#authentication */
export const bitbucket: Provider = {
  title: 'Bitbucket',
  endpoints: () => ({
    authorize: 'https://bitbucket.org/site/oauth2/authorize',
    token: 'https://bitbucket.org/site/oauth2/access_token',
  }),
  scopes: ['account', 'email'],
  authentication: 'body',
  acceptsPkce: false,
  async readProfile(api) {
    const user = await api.get('https://api.bitbucket.org/2.0/user')
    const { values } = await api.get('https://api.bitbucket.org/2.0/user/emails')
    const confirmed = (Array.isArray(values) ? values : [])
      .map(objectOf)
      .filter((email) => email.is_confirmed === true)
    const email = textOf(confirmed.find((each) => each.is_primary === true)?.email, confirmed[0]?.email)
    return {
      subject: requireText(user.uuid, 'uuid'),
      email,
      isEmailVerified: email !== undefined,
      name: textOf(user.display_name, user.nickname),
    }
  },
}
