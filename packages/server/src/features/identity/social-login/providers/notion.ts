import { type Json, objectOf, type Provider, ProviderFailure, requireText, textOf } from './provider.ts'

/** Notion: https://developers.notion.com/docs/authorization */
export const notion: Provider = {
  title: 'Notion',
  endpoints: () => ({
    authorize: 'https://api.notion.com/v1/oauth/authorize',
    token: 'https://api.notion.com/v1/oauth/token',
  }),
  scopes: [],
  authentication: 'basic',
  acceptsPkce: false,
  authorizeParameters: { owner: 'user' },
  tokenRequestFormat: 'json',
  async readProfile(api) {
    const owner = objectOf(api.tokenResponse.owner ?? (await findOwner(api.get)))
    if (owner.type !== 'user') throw new ProviderFailure('the token does not belong to a person')
    const user = objectOf(owner.user)
    return {
      subject: requireText(user.id, 'owner.user.id'),
      email: textOf(objectOf(user.person).email),
      isEmailVerified: false,
      name: textOf(user.name),
    }
  },
}

async function findOwner(
  get: (url: string, options: { headers: Record<string, string> }) => Promise<Json>,
): Promise<unknown> {
  const me = await get('https://api.notion.com/v1/users/me', { headers: { 'notion-version': '2022-06-28' } })
  return objectOf(me.bot).owner
}
