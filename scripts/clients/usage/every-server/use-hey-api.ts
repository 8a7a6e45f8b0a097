import { type Webhook, webhooksCreate, webhooksList } from './hey-api'

/** Returns the URLs of all webhooks, with the names and types that a person would choose. */
export async function listUrls(): Promise<string[]> {
  const { data, error } = await webhooksList()
  if (data === undefined) throw new Error(error?.message)
  return data.items.map((webhook: Webhook) => webhook.url)
}

export async function create(): Promise<Webhook> {
  const body = { url: 'https://example.com/hook', tables: ['track'] }
  const { data } = await webhooksCreate({ body, throwOnError: true })
  return data
}
