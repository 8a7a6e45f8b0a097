import type { components, operations, paths } from './openapi-typescript'

type Webhook = components['schemas']['Webhook']
type List = operations['webhooks.list']['responses'][200]['content']['application/json']
type Create = NonNullable<paths['/api/webhooks']['post']['requestBody']>['content']['application/json']

export const urlsOf = ({ items }: List): string[] => items.map((webhook: Webhook) => webhook.url)

export const body: Create = { url: 'https://example.com/hook', tables: ['track'] }
