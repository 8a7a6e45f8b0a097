import type { AiConfig } from './config.ts'

/** Model at a provider. */
export interface EmbeddingModel {
  readonly provider: string
  readonly baseUrl: string
  /** API key; empty if the provider needs none. */
  readonly apiKey: string
  readonly name: string
  /** Configured number of dimensions; undefined for that of the model. */
  readonly dimensions: number | undefined
}

const openAiUrl = 'https://api.openai.com/v1'

/**
 * Returns the configured model; undefined when the configuration lacks the provider, its address or a model.
 *
 * @param requested a model of the default provider, or `provider:model`; without it the default model
 */
export function findModel(config: AiConfig, requested?: string): EmbeddingModel | undefined {
  const fallback = config.embedding_provider || config.default_provider
  const colon = requested?.indexOf(':') ?? -1
  const named = colon === -1 ? undefined : requested?.slice(0, colon)
  // A model's own name can have a colon: `nomic-embed-text:v1.5`.
  const isProvider = named !== undefined && Object.hasOwn(config.providers, named)
  const provider = isProvider ? named : fallback
  const settings = Object.hasOwn(config.providers, provider) ? config.providers[provider] : undefined
  const baseUrl = settings?.base_url ?? (provider === 'openai' ? openAiUrl : undefined)
  const name =
    (isProvider ? requested?.slice(colon + 1) : requested) ||
    config.embedding_model ||
    settings?.default_model ||
    config.default_model
  if (settings === undefined || baseUrl === undefined || name === '') return undefined
  return {
    provider,
    baseUrl: baseUrl.replace(/\/$/, ''),
    apiKey: settings.api_key ?? '',
    name,
    dimensions: config.embedding_dimensions[`${provider}:${name}`],
  }
}
