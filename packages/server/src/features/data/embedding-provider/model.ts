import type { AiConfig } from './config.ts'

/** A model at a provider. */
export interface EmbeddingModel {
  readonly provider: string
  readonly baseUrl: string
  /** Empty where the provider needs none. */
  readonly apiKey: string
  readonly name: string
  /** As configured; undefined: whatever the model has. */
  readonly dimensions: number | undefined
}

const openAiUrl = 'https://api.openai.com/v1'

/**
 * The model that the configuration means; undefined when it lacks the provider, its address or a model.
 *
 * @param asked a model of the default provider, or `provider:model`; without it the default model
 */
export function findModel(config: AiConfig, asked?: string): EmbeddingModel | undefined {
  const fallback = config.embedding_provider || config.default_provider
  const colon = asked?.indexOf(':') ?? -1
  const named = colon === -1 ? undefined : asked?.slice(0, colon)
  // A model's own name can have a colon: `nomic-embed-text:v1.5`.
  const isProvider = named !== undefined && Object.hasOwn(config.providers, named)
  const provider = isProvider ? named : fallback
  const settings = Object.hasOwn(config.providers, provider) ? config.providers[provider] : undefined
  const baseUrl = settings?.base_url ?? (provider === 'openai' ? openAiUrl : undefined)
  const name =
    (isProvider ? asked?.slice(colon + 1) : asked) ||
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
