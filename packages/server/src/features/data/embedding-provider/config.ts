import { integer, plain, table, text } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

const providerName = '[A-Za-z0-9_-]{1,64}'

const provider = Type.Object(
  {
    api_key: Type.Optional(Type.String()),
    base_url: Type.Optional(Type.String({ pattern: '^https?://[^\\s?#]+$' })),
    default_model: Type.Optional(Type.String({ minLength: 1 })),
  },
  { additionalProperties: false },
)

/** Keys of `ai`, embedding providers. Any endpoint that supports OpenAI's `POST /embeddings` works. */
export const aiConfig = Type.Object({
  default_provider: text(
    'openai',
    'Name of the provider, one of ai.providers. Other keys can name another one.',
    {
      pattern: `^${providerName}$`,
      expects: 'a name of letters, digits, _ and -',
    },
  ),
  default_model: plain('Model for providers without a default_model.'),
  embedding_provider: text('', 'Embedding provider. Empty means ai.default_provider.', {
    pattern: `^(${providerName})?$`,
    expects: 'a name of letters, digits, _ and -',
  }),
  embedding_model: plain("Embedding model. Empty means the provider's default_model, else ai.default_model."),
  embedding_dimensions: table(
    Type.Integer({ minimum: 1, maximum: 16_000 }),
    'Number of dimensions of the embeddings of a model, by "provider:model". Basalt requests this number. It must be that of the column.',
    { names: '^[^:]{1,64}:.{1,200}$', expects: 'a table of integers from 1 to 16000 by "provider:model"' },
  ),
  timeout: integer(30, 'Maximum time in seconds for a response of the provider, retries included.', 1, 600),
  max_retries: integer(2, 'Maximum number of retries after a transient failure.', 0, 10),
  queries_per_hour: integer(
    1000,
    'Maximum number of search texts that are embedded per hour for one user, or for one address without a token. Cached texts do not count.',
    1,
    10_000_000,
  ),
  breaker: Type.Object({
    failure_threshold: integer(
      5,
      'Number of consecutive failures after which this node stops sending requests to a provider.',
      1,
      1000,
    ),
    open_seconds: integer(30, 'Time in seconds before the provider is probed again.', 1, 3600),
    half_open_probe_limit: integer(1, 'Maximum number of concurrent probe requests.', 1, 100),
  }),
  providers: table(
    provider,
    'Providers by name: api_key, base_url and default_model. The default address of "openai" is https://api.openai.com/v1.',
    { expects: 'a table of providers with api_key, base_url and default_model', secret: true },
  ),
})

export type AiConfig = Static<typeof aiConfig>
