import type { Configuration } from 'openid-client'
import { readJson } from './library-fetch.ts'
import { type ClientSettings, objectOf, type ProviderApi, ProviderFailure } from './providers/provider.ts'
import type { Transport } from './transport.ts'

export interface ProviderApiDeps extends Pick<ProviderApi, 'tokenResponse' | 'claims' | 'form'> {
  readonly transport: Transport
  readonly settings: ClientSettings
  readonly configuration: Configuration
  readonly accessToken: string
}

/** Creates the API of a provider with one access token. Descriptions of providers read profiles from it. */
export function createProviderApi({
  transport,
  settings,
  configuration,
  accessToken,
  tokenResponse,
  claims,
  form,
}: ProviderApiDeps): ProviderApi {
  const authorization = `Bearer ${accessToken}`
  const fetchJson = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await transport(url, { headers: { authorization, ...headers } })
    const [address = ''] = url.split('?', 1)
    if (response.status !== 200) throw new ProviderFailure(`GET ${address}: status ${response.status}`)
    try {
      return (await response.json()) as unknown
    } catch {
      throw new ProviderFailure(`GET ${address}: the response is not JSON`)
    }
  }
  return {
    tokenResponse,
    claims,
    form,
    settings,
    accessToken,
    get: async (url, options) => objectOf(await fetchJson(url, options?.headers)),
    async getList(url) {
      const list = await fetchJson(url)
      return Array.isArray(list) ? list.map(objectOf) : []
    },
    async fetchUserInfo() {
      const library = await import('openid-client')
      if (configuration.serverMetadata().userinfo_endpoint === undefined) return {}
      const { sub } = claims
      const expected = typeof sub === 'string' ? sub : library.skipSubjectCheck
      return objectOf(await library.fetchUserInfo(configuration, accessToken, expected))
    },
    async request(url, { method, headers = {}, body }) {
      const response = await transport(url, { method, headers, body })
      return response.status === 200 ? await readJson(response) : undefined
    },
  }
}
