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

/** `ai`: providers of embeddings. Any endpoint that speaks OpenAI's `POST /embeddings` will do. */
export const aiConfig = Type.Object({
  default_provider: text(
    'openai',
    'Name of the provider, one of ai.providers, unless another key names one.',
    {
      pattern: `^${providerName}$`,
      expects: 'a name of letters, digits, _ and -',
    },
  ),
  default_model: plain('Model of providers without a default_model.'),
  embedding_provider: text('', 'Provider of embeddings; empty: ai.default_provider.', {
    pattern: `^(${providerName})?$`,
    expects: 'a name of letters, digits, _ and -',
  }),
  embedding_model: plain("Model of embeddings; empty: the provider's default_model, else ai.default_model."),
  embedding_dimensions: table(
    Type.Integer({ minimum: 1, maximum: 16_000 }),
    'Dimensions of the embeddings of a model, by "provider:model". They are asked for, and have to be those of the column.',
    { names: '^[^:]{1,64}:.{1,200}$', expects: 'a table of integers from 1 to 16000 by "provider:model"' },
  ),
  timeout: integer(30, 'Seconds that a provider has to answer, retries included.', 1, 600),
  max_retries: integer(2, 'Further attempts after one that failed for the moment.', 0, 10),
  queries_per_hour: integer(
    1000,
    'Texts of searches by meaning that are embedded for one user, or one address without a token, per hour; those known from before do not count.',
    1,
    10_000_000,
  ),
  breaker: Type.Object({
    failure_threshold: integer(
      5,
      'Failures in a row after which this node stops asking a provider.',
      1,
      1000,
    ),
    open_seconds: integer(30, 'Seconds before it is asked again.', 1, 3600),
    half_open_probe_limit: integer(1, 'Requests that try it then, at once.', 1, 100),
  }),
  providers: table(
    provider,
    'Providers by name: api_key, base_url and default_model. The address of "openai" is https://api.openai.com/v1 unless given.',
    { expects: 'a table of providers with api_key, base_url and default_model', secret: true },
  ),
})

export type AiConfig = Static<typeof aiConfig>
